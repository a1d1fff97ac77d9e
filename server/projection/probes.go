package projection

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/probe"
)

// probesPause is the least time between two looks at what is to be probed: a
// burst of registrations into one service is one new list of targets.
const probesPause = 100 * time.Millisecond

// Prober is the part of a [probe.Prober] that is needed.
type Prober interface {
	Set(key probe.Cluster, checker probe.Checker, checkPort int, targets []probe.Target) error
	Remove(key probe.Cluster)
	OnResult(f func(probe.Result) error)
}

// Probes keeps the targets of a prober those that a store has, and the health in
// the store what the prober found.
type Probes struct {
	store  *naming.Store
	prober Prober
	logger *slog.Logger

	mu      sync.Mutex
	pending map[wire.ServiceKey]struct{}
	probed  map[wire.ServiceKey]map[string]struct{} // clusters that the prober has
	wake    chan struct{}

	cancel context.CancelFunc
	done   chan struct{}
}

// NewProbes begins with what the store has. It is closed before the prober is. A
// nil logger discards the one thing there is to say: that a checker cannot be
// used.
func NewProbes(store *naming.Store, prober Prober, logger *slog.Logger) *Probes {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Probes{
		store: store, prober: prober, logger: logger,
		pending: make(map[wire.ServiceKey]struct{}), probed: make(map[wire.ServiceKey]map[string]struct{}),
		wake: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}),
	}
	prober.OnResult(p.found)
	store.OnChange(p.changed)
	for _, namespace := range store.Namespaces() {
		for _, r := range store.Services(namespace) {
			p.changed(r.Key())
		}
	}
	go p.run(ctx)
	return p
}

// Close stops following the store and waits for that. Closing again does nothing.
func (p *Probes) Close() error {
	p.cancel()
	<-p.done
	return nil
}

// found brings a result to the store, where it is soft state.
func (p *Probes) found(r probe.Result) error {
	p.store.SetPersistentHealth(r.Cluster.Service,
		naming.InstanceKey{Cluster: r.Cluster.Name, IP: r.IP, Port: r.Port}, r.Healthy)
	return nil
}

// changed notes a service that is to be looked at. Most have only instances that
// beat and are none of a prober's business.
func (p *Probes) changed(k wire.ServiceKey) {
	persistent := false
	if r, ok := p.store.Lookup(k); ok {
		for range r.Persistent() {
			persistent = true
			break
		}
	}
	p.mu.Lock()
	_, known := p.probed[k]
	if !persistent && !known {
		p.mu.Unlock()
		return
	}
	if persistent && !known {
		p.probed[k] = nil // from now on it is looked at until it has none
	}
	p.pending[k] = struct{}{}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Probes) run(ctx context.Context) {
	defer close(p.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		p.mu.Lock()
		pending := p.pending
		p.pending = make(map[wire.ServiceKey]struct{})
		p.mu.Unlock()
		for k := range pending {
			p.update(k)
		}
		pause.Reset(probesPause)
	}
}

// update gives the prober the targets of a service as they are now.
func (p *Probes) update(k wire.ServiceKey) {
	targets := make(map[string][]probe.Target)
	revision, _ := p.store.Lookup(k)
	if revision != nil {
		for i := range revision.Persistent() {
			targets[i.Cluster] = append(targets[i.Cluster], probe.Target{IP: i.IP, Port: i.Port, Healthy: i.Healthy})
		}
	}
	clusters := make(map[string]struct{}, len(targets))
	for name, of := range targets {
		key := probe.Cluster{Service: k, Name: name}
		if err := p.set(key, revision.ClusterInfo(name), of); err != nil {
			p.logger.Error("a health checker cannot be used; its instances are not probed",
				"service", k.String(), "cluster", name, "error", err)
			p.prober.Remove(key)
			continue
		}
		clusters[name] = struct{}{}
	}
	p.mu.Lock()
	before := p.probed[k]
	if len(targets) == 0 {
		delete(p.probed, k)
	} else {
		p.probed[k] = clusters
	}
	p.mu.Unlock()
	for name := range before {
		if _, still := clusters[name]; !still {
			p.prober.Remove(probe.Cluster{Service: k, Name: name})
		}
	}
}

func (p *Probes) set(key probe.Cluster, info naming.ClusterInfo, targets []probe.Target) error {
	checker, err := probe.ParseChecker(info.Checker.Document())
	if err != nil {
		return err
	}
	port := info.CheckPort
	if info.UseInstancePort {
		port = 0
	}
	return p.prober.Set(key, checker, port, targets)
}

// ProbeParams returns what probes obey, from the switches of the moment.
func ProbeParams(switches *naming.Switches) func() probe.Params {
	interval := func(h naming.HealthParams) probe.Interval {
		return probe.Interval{
			Max: time.Duration(h.Max) * time.Millisecond, Min: time.Duration(h.Min) * time.Millisecond,
			Factor: float64(h.Factor),
		}
	}
	return func() probe.Params {
		v := switches.Load()
		return probe.Params{
			Enabled: v.HealthCheckEnabled, Exempt: v.HealthCheckWhiteList, CheckTimes: v.CheckTimes,
			TCP: interval(v.TCPHealthParams), HTTP: interval(v.HTTPHealthParams), MySQL: interval(v.MySQLHealthParams),
		}
	}
}
