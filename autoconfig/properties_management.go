package autoconfig

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Endpoints of the actuator that can be exposed.
const (
	endpointHealth          = "health"
	endpointServiceRegistry = "serviceregistry"
	endpointNacosDiscovery  = "nacosdiscovery"
	endpointDiscovery       = "discovery"
	endpointLoadBalancer    = "loadbalancer"
	endpointConfigProps     = "configprops"
	endpointMetrics         = "metrics"
	endpointLoggers         = "loggers"
	endpointPrometheus      = "prometheus"
)

var endpoints = []string{
	endpointHealth, endpointServiceRegistry, endpointNacosDiscovery, endpointDiscovery, endpointLoadBalancer,
	endpointConfigProps, endpointMetrics, endpointLoggers, endpointPrometheus,
}

// ManagementProperties is the block management: the actuator.
type ManagementProperties struct {
	// Server says whether the actuator has a server of its own.
	Server ManagementServerProperties `mapstructure:"server"`
	// Endpoints says where the actuator is and what it shows.
	Endpoints EndpointProperties `mapstructure:"endpoints"`
	// Health says what the health answer is made of.
	Health HealthProperties `mapstructure:"health"`
}

// ManagementServerProperties is the block management.server.
type ManagementServerProperties struct {
	// Port of a server for the actuator alone, -1: none, the web server has it. That
	// of the web server means the same. 0 takes a free one.
	Port int `mapstructure:"port"`
	// Address that server listens on; "" is all of them.
	Address string `mapstructure:"address"`
	// ContextPath is a prefix of all its paths, before endpoints.base-path; "" is
	// none.
	ContextPath string `mapstructure:"context-path"`
}

// EndpointProperties is the block management.endpoints.
type EndpointProperties struct {
	// BasePath of the actuator, /actuator.
	BasePath string `mapstructure:"base-path"`
	// Exposure lists what can be reached, health: health, serviceregistry,
	// nacosdiscovery, discovery, loadbalancer, configprops, metrics, loggers and
	// prometheus; "*" is all of them, an empty list none. Whoever reaches
	// serviceregistry and loggers can change things.
	Exposure []string `mapstructure:"exposure"`
	// Exclude takes some of exposure out again, none; "*" is all of them.
	Exclude []string `mapstructure:"exclude"`
}

// Exposed returns the endpoints that can be reached.
func (p EndpointProperties) Exposed() []string {
	return slices.DeleteFunc(slices.Clone(endpoints), func(id string) bool {
		return !names(p.Exposure, id) || names(p.Exclude, id)
	})
}

// names reports whether an endpoint is in a list.
func names(list []string, id string) bool {
	return slices.Contains(list, id) || slices.Contains(list, "*")
}

// HealthProperties is the block management.health.
type HealthProperties struct {
	// DiscoveryClient switches the indicator discoveryClient, on.
	DiscoveryClient Switch `mapstructure:"discovery-client"`
	// NacosDiscovery switches the indicator nacosDiscovery, on.
	NacosDiscovery Switch `mapstructure:"nacos-discovery"`
	// RegistryAffectsReadiness takes readiness away while the registry cannot be
	// reached, off (B-R8): an application usually serves well without it.
	RegistryAffectsReadiness bool `mapstructure:"registry-affects-readiness"`
}

// Switch is a block with the one key enabled.
type Switch struct {
	// Enabled switches the thing on.
	Enabled bool `mapstructure:"enabled"`
}

// defaultBasePath is where Spring's clients look for the actuator.
const defaultBasePath = "/actuator"

// DefaultManagementProperties returns the defaults of the block management.
func DefaultManagementProperties() ManagementProperties {
	return ManagementProperties{
		Server:    ManagementServerProperties{Port: -1},
		Endpoints: EndpointProperties{BasePath: defaultBasePath, Exposure: []string{endpointHealth}},
		Health:    HealthProperties{DiscoveryClient: Switch{true}, NacosDiscovery: Switch{true}},
	}
}

// Validate reports every value that cannot work.
func (p *ManagementProperties) Validate() error {
	var errs []error
	if p.Server.Port < -1 || p.Server.Port > math.MaxUint16 {
		errs = append(errs, errors.New("server.port: must be 0 to 65535, or -1 for the web server's"))
	}
	errs = append(errs, listenAddress("server.address", p.Server.Address))
	if strings.ContainsAny(p.Server.ContextPath, "?#*: ") {
		errs = append(errs, errors.New("server.context-path: must be a plain path such as /manage"))
	}
	if strings.ContainsAny(p.Endpoints.BasePath, "?#*: ") {
		errs = append(errs, errors.New("endpoints.base-path: must be a plain path such as /actuator"))
	}
	errs = append(errs, areEndpoints("endpoints.exposure", p.Endpoints.Exposure), areEndpoints("endpoints.exclude", p.Endpoints.Exclude))
	return errors.Join(errs...)
}

func areEndpoints(key string, list []string) error {
	var errs []error
	for _, id := range list {
		if id != "*" && !slices.Contains(endpoints, id) {
			errs = append(errs, fmt.Errorf("%s: %q is not an endpoint, known are %s", key, id, strings.Join(endpoints, ", ")))
		}
	}
	return errors.Join(errs...)
}

// basePath returns the base path with one leading and no trailing slash, "" for
// the root.
func (p *ManagementProperties) basePath() string {
	return plainPath(p.Endpoints.BasePath)
}
