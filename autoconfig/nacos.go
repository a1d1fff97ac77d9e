package autoconfig

import (
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
		fx.Provide(fx.Private,
			func(lc fx.Lifecycle, logger *slog.Logger) (*nacosclient.Client, error) {
				return newNacosClient(s, lc, logger)
			},
			func(c *nacosclient.Client) nacosregistry.Options {
				return nacosregistry.Options{Client: c, AllowShortBeat: s.nacos.Discovery.AllowShortBeat}
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
		Servers: servers, ContextPath: d.ContextPath, Namespace: d.Namespace,
		Username: username, Password: password,
		ConnectTimeout: d.ConnectTimeout, RequestTimeout: d.RequestTimeout, MaxRetries: d.MaxRetries,
		AppName: s.application.Name, TLS: tlsConfig, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	lc.Append(fx.Hook{OnStop: func(context.Context) error { return c.Close() }})
	return c, nil
}
