package autoconfig

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
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
		named(loggerDiscovery),
		fx.Invoke(func(r prometheus.Registerer, i *inside) error { return r.Register(localInfo{i.local}) }),
		fx.Invoke(s.checkSourceOrder),
		fx.Provide(
			s.discoveryOptions,
			fx.Annotate(s.simpleSource, fx.As(new(discovery.Source)), fx.ResultTags(`group:"discovery.sources"`)),
		),
	}
	if s.management.Health.DiscoveryClient.Enabled {
		opts = append(opts, provideIndicator(s.discoveryIndicator))
	}
	return fx.Module("discovering", opts...)
}

// named has the parts of a module log under a name.
func named(name string) fx.Option {
	return fx.Decorate(func(loggers *Loggers, l *slog.Logger) *slog.Logger { return loggers.Named(name, l) })
}

func (s *settings) discoveryOptions() (discovery.Options, error) {
	d := &s.nacos.Discovery
	order := make([]string, len(s.discovery.Client.Order))
	for i, name := range s.discovery.Client.Order {
		if order[i] = name; name == simpleSource {
			order[i] = (*static.Source)(nil).Name()
		}
	}
	disk, err := s.disk()
	return discovery.Options{
		Order: order, Merge: s.discovery.Client.Merge, Namespace: d.Namespace, Group: d.Group,
		RefreshInterval: d.RefreshInterval, MaxBackOff: d.MaxBackOff, FirstFetchTimeout: d.FirstFetchTimeout,
		FailureTolerance: discovery.FailureTolerance{Disabled: !d.FailureTolerance, MaxAge: d.FailureToleranceMaxAge},
		EmptyProtection:  discovery.EmptyProtection{Enabled: d.EmptyProtection, TTL: d.EmptyProtectionTTL},
		Disk:             disk,
		Heartbeat:        discovery.Heartbeat{Enabled: d.HeartBeat.Enabled, Delay: d.WatchDelay},
	}, err
}

type sourceOrderParams struct {
	fx.In

	Sources []discovery.Source `group:"discovery.sources"`
	Logger  *slog.Logger
}

// checkSourceOrder warns of a name in cloud.discovery.client.order that no source
// has: which there are beside the two of the framework is known in the graph alone.
func (s *settings) checkSourceOrder(p sourceOrderParams) {
	known := []string{nacosSource, simpleSource}
	for _, source := range p.Sources {
		known = append(known, source.Name())
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, name := range s.discovery.Client.Order {
		if !slices.Contains(known, name) {
			p.Logger.Warn("there is no such source, its place in the order has no effect", slog.String("key", "cloud.discovery.client.order"),
				slog.String("source", name), slog.String("there-are", strings.Join(known, ", ")))
		}
	}
}

// disk says where lists are kept in files. Without a reason there are none.
func (s *settings) disk() (discovery.Disk, error) {
	d := &s.nacos.Discovery
	disk := discovery.Disk{Dir: d.CacheDir, LoadAtStart: d.LoadCacheAtStart, MaxAge: d.SnapshotMaxAge, Failover: d.Failover}
	var err error
	if disk.Dir == "" && (disk.LoadAtStart || disk.Failover) {
		disk.Dir, err = discovery.DefaultDir(d.Namespace, s.nacos.addresses()...)
	}
	return disk, err
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
	return fx.Module("balancing",
		loadbalance.Module,
		named(loggerLoadBalancer),
		fx.Provide(s.loadBalancerOptions),
		// Before anybody of the application's has seen the client.
		fx.Invoke(func(t *tracing, c *loadbalance.HTTPClient) { t.wrap(c) }),
	)
}

// loadBalancerOptions tell the balancer who is calling.
func (s *settings) loadBalancerOptions() loadbalance.Options {
	d := &s.nacos.Discovery
	return loadbalance.Options{
		Properties: s.loadbalancer, Stages: s.stages, Cluster: d.ClusterName, Zone: s.zone(), InstanceID: s.instanceID(),
		IPType: d.IPType,
	}
}
