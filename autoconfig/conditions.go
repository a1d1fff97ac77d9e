package autoconfig

import (
	"log/slog"

	"github.com/rollcall-go/rollcall/loadbalance"
)

// settings are the blocks of this package, filled in.
type settings struct {
	application     *ApplicationProperties
	server          *ServerProperties
	management      *ManagementProperties
	logging         *LoggingProperties
	serviceRegistry *ServiceRegistryProperties
	discovery       *DiscoveryProperties
	inetutils       *InetUtilsProperties
	nacos           *NacosProperties
	loadbalancer    *loadbalance.Properties
	stages          []loadbalance.Stage // of the application's own
	host            *host
}

// condition is a part of the application and why it takes part or does not.
type condition struct {
	part    string
	holds   bool
	because string
}

// webServer: something is to be listened on.
func (s *settings) webServer() condition {
	return condition{"web server", s.server.Port >= 0, "server.port is not -1"}
}

// managementServer: the actuator has a server of its own. One with the web
// server's port is the web server.
func (s *settings) managementServer() condition {
	port := s.management.Server.Port
	return condition{
		"management server", port == 0 || port > 0 && port != s.server.Port,
		"management.server.port is neither -1 nor that of the web server",
	}
}

// discoveryClient: services are looked up.
func (s *settings) discoveryClient() condition {
	return condition{"discovery", s.discovery.Enabled, "cloud.discovery.enabled"}
}

// nacosBackend: a Nacos registry is used, unless the application brought a
// registry of its own.
func (s *settings) nacosBackend(ownBackend bool) condition {
	return condition{
		"nacos", s.discovery.Enabled && s.nacos.Discovery.Enabled && !ownBackend,
		"cloud.discovery.enabled and cloud.nacos.discovery.enabled, and no autoconfig.Backend",
	}
}

// registration: this application makes itself known.
func (s *settings) registration() condition {
	return condition{
		"registration", s.discovery.Enabled && s.serviceRegistry.AutoRegistration.Enabled && s.nacos.Discovery.RegisterEnabled,
		"cloud.discovery.enabled, cloud.service-registry.auto-registration.enabled and cloud.nacos.discovery.register-enabled",
	}
}

// loadBalancer: services are called by name.
func (s *settings) loadBalancer() condition {
	return condition{
		"load balancer", s.discovery.Enabled && s.loadbalancer.Enabled,
		"cloud.discovery.enabled and cloud.loadbalancer.enabled",
	}
}

// logConditions is the report of what takes part.
func logConditions(l *slog.Logger, conditions ...condition) {
	for _, c := range conditions {
		l.Debug("condition", slog.String("part", c.part), slog.Bool("holds", c.holds), slog.String("if", c.because))
	}
}
