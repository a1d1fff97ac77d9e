package autoconfig

import (
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/static"
	"github.com/rollcall-go/rollcall/loadbalance"
)

// discoveryModule provides the discovery client over the sources of the graph,
// the fixed catalogue among them.
func discoveryModule(s *settings) fx.Option {
	opts := []fx.Option{
		discovery.Module,
		fx.Provide(
			s.discoveryOptions,
			fx.Annotate(s.simpleSource, fx.As(new(discovery.Source)), fx.ResultTags(`group:"discovery.sources"`)),
		),
	}
	if s.management.Health.DiscoveryClient.Enabled {
		opts = append(opts, provideIndicator(discoveryIndicator))
	}
	return fx.Options(opts...)
}

func (s *settings) discoveryOptions() discovery.Options {
	d := &s.nacos.Discovery
	order := make([]string, len(s.discovery.Client.Order))
	for i, name := range s.discovery.Client.Order {
		if order[i] = name; name == simpleSource {
			order[i] = (*static.Source)(nil).Name()
		}
	}
	return discovery.Options{
		Order: order, Namespace: d.Namespace, Group: d.Group,
		RefreshInterval: d.RefreshInterval, MaxBackOff: d.MaxBackOff, FirstFetchTimeout: d.FirstFetchTimeout,
	}
}

func (s *settings) simpleSource() (*static.Source, error) {
	table, err := s.discovery.Client.table()
	if err != nil {
		return nil, err
	}
	return static.New(table)
}

// loadBalancerModule provides the balancer and the client that calls by name.
func loadBalancerModule(s *settings) fx.Option {
	return fx.Options(
		loadbalance.Module,
		fx.Provide(
			func() (loadbalance.Options, error) { return s.loadbalancer.options(s.nacos.Discovery.ClusterName) },
			s.loadbalancer.transport,
			s.loadbalancer.base,
		),
	)
}
