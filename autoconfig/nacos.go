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
			func(c *nacosclient.Client) nacosregistry.Options {
				d := &s.nacos.Discovery
				return nacosregistry.Options{
					Client: c, AllowShortBeat: d.AllowShortBeat, Watch: nacosregistry.Watch{Enabled: d.Watch.Enabled},
				}
			},
			func(c *nacosclient.Client) nacosdiscovery.Options {
				push := s.nacos.Discovery.Push
				return nacosdiscovery.Options{Client: c, Push: nacosdiscovery.Push{
					Enabled: push.Enabled, Port: push.Port, AdvertiseIP: push.AdvertiseIP,
				}}
			},
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

func newNacosClient(s *settings, lc fx.Lifecycle, logger *slog.Logger) (*nacosclient.Client, error) {
	d := &s.nacos.Discovery
	servers, _ := s.nacos.servers()
	username, password := s.nacos.login()
	tlsConfig, err := d.TLS.config()
	if err != nil {
		return nil, err
	}
	c, err := nacosclient.New(nacosclient.Options{
		Servers: servers, Endpoint: d.Endpoint, EndpointPort: d.EndpointPort, ServerListRefresh: d.ServerListRefresh,
		ContextPath: d.ContextPath, Namespace: d.Namespace,
		Username: username, Password: password, AccessKey: d.AccessKey, SecretKey: d.SecretKey,
		ConnectTimeout: d.ConnectTimeout, RequestTimeout: d.RequestTimeout, MaxRetries: d.MaxRetries,
		AppName: s.application.Name, TLS: tlsConfig, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	lc.Append(fx.Hook{OnStop: func(context.Context) error { return c.Close() }})
	return c, nil
}
