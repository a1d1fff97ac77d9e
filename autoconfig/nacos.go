package autoconfig

import (
	"cmp"
	"context"
	"log/slog"

	"go.uber.org/fx"

	nacosdiscovery "github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
	nacosregistry "github.com/rollcall-go/rollcall/registry/nacos"
)

// nacosModule provides the registry and the source over one client of the
// registry server, which logs in once for both.
func nacosModule(s *settings) fx.Option {
	opts := []fx.Option{
		fx.Decorate(func(loggers *Loggers, l *slog.Logger) *slog.Logger {
			return loggers.Named(cmp.Or(s.nacos.Discovery.LogName, loggerNaming), l)
		}),
		fx.Provide(func(c *nacosclient.Client, r *nacosregistry.Registry) *nacosParts { return &nacosParts{c, r} }),
		fx.Provide(fx.Private,
			func(lc fx.Lifecycle, logger *slog.Logger) (*nacosclient.Client, error) {
				return newNacosClient(s, lc, logger)
			},
			s.nacosRegistry,
			s.nacosSource,
		),
		nacosregistry.Module,
		nacosdiscovery.Module,
	}
	if s.management.Health.NacosDiscovery.Enabled {
		opts = append(opts, provideIndicator(func(c *nacosclient.Client) HealthIndicator {
			return nacosIndicator(c, s.management.Health.RegistryAffectsReadiness)
		}))
	}
	return fx.Module("nacos", opts...)
}

// nacosRegistry is how to register over a client.
func (s *settings) nacosRegistry(c *nacosclient.Client) nacosregistry.Options {
	d := &s.nacos.Discovery
	return nacosregistry.Options{
		Connection: nacosregistry.Connection{Client: c}, AllowShortBeat: d.AllowShortBeat, Watch: nacosregistry.Watch{Enabled: d.Watch.Enabled},
	}
}

// nacosSource is how to look up over a client.
func (s *settings) nacosSource(c *nacosclient.Client) nacosdiscovery.Options {
	push := s.nacos.Discovery.Push
	return nacosdiscovery.Options{Connection: nacosdiscovery.Connection{Client: c}, Push: nacosdiscovery.Push{
		Enabled: push.Enabled, Port: push.Port, AdvertiseIP: push.AdvertiseIP,
	}}
}

// nacosClient is which registry to speak to, and how.
func (s *settings) nacosClient() (nacosclient.Options, error) {
	d := &s.nacos.Discovery
	servers, _ := s.nacos.servers()
	username, password := s.nacos.login()
	effective := s.nacos.tls()
	tlsConfig, err := effective.config()
	return nacosclient.Options{
		Servers: servers, Endpoint: d.Endpoint, EndpointPort: d.EndpointPort, ServerListRefresh: d.ServerListRefresh,
		ContextPath: d.ContextPath, Namespace: d.Namespace,
		Username: username, Password: password, AccessKey: d.AccessKey, SecretKey: d.SecretKey,
		ConnectTimeout: d.ConnectTimeout, RequestTimeout: d.RequestTimeout, MaxRetries: d.MaxRetries,
		AppName: s.application.Name, TLS: tlsConfig,
	}, err
}

func newNacosClient(s *settings, lc fx.Lifecycle, logger *slog.Logger) (*nacosclient.Client, error) {
	o, err := s.nacosClient()
	if err != nil {
		return nil, err
	}
	o.Logger = logger
	c, err := nacosclient.New(o)
	if err != nil {
		return nil, err
	}
	lc.Append(fx.Hook{OnStop: func(context.Context) error { return c.Close() }})
	return c, nil
}
