package loadbalance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// ErrClosed says that the balancer was closed before the call.
var ErrClosed = errors.New("load balancer is closed")

// Options configures a [LoadBalancer]. The zero value of every field but
// Discovery is usable.
type Options struct {
	// Discovery answers which instances there are. The balancer does not close it.
	Discovery *discovery.Client
	// Policy chooses among the candidates; nil is [WeightedRandom].
	Policy Policy
	// Cluster is the caller's own cluster; "" means that it is in none.
	Cluster string
	// PreferSameCluster sends calls to the caller's own cluster while it has a
	// usable instance that the call has not tried yet.
	PreferSameCluster bool
	// UseUnhealthyWhenEmpty sends calls to unhealthy instances when there are no
	// healthy ones; by default that is a [NoInstanceError] (client rule D-R15).
	UseUnhealthyWhenEmpty bool
	// Filters narrow the usable instances further, in this order and before the
	// cluster counts; what they leave out gets no traffic.
	Filters []Filter
	// Logger may be nil.
	Logger *slog.Logger
}

// LoadBalancer leads from a service to one of its instances. It has no cache and
// no goroutine of its own: each choice is made from the list that discovery
// holds at that moment (client rule D-R6), and what can be worked out once per
// list is. All methods are safe for concurrent use.
type LoadBalancer struct {
	discovery *discovery.Client
	policy    Policy
	usable    Filter
	prefer    Filter // nil without preference
	directory directory
	log       *slog.Logger

	closed   atomic.Bool
	services states
	requests sync.Pool // of *Request
}

// New returns a balancer over a discovery client. It asks nothing yet.
func New(o Options) (*LoadBalancer, error) {
	if o.Discovery == nil {
		return nil, errors.New("load balancer options: no discovery client")
	}
	if o.Policy == nil {
		o.Policy = WeightedRandom(nil)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	usable := Usable()
	if o.UseUnhealthyWhenEmpty {
		usable = UsableElseUnhealthy()
	}
	l := &LoadBalancer{
		discovery: o.Discovery, policy: o.Policy, log: o.Logger,
		usable:    Chain(append([]Filter{usable}, o.Filters...)...),
		directory: directory{discovery: o.Discovery},
	}
	if o.PreferSameCluster && o.Cluster != "" {
		l.prefer = PreferCluster(o.Cluster)
	}
	l.requests.New = func() any { return new(Request) }
	l.services.init()
	return l, nil
}

// ID returns the id that a name stands for; see [discovery.Client.ID].
func (l *LoadBalancer) ID(name string) registry.ServiceID { return l.discovery.ID(name) }

// Choose picks an instance of a service and avoids those that earlier attempts
// of the same call tried, as long as there are others. Only the first choice for
// a service may wait, within the context, for its list. The caller reports the
// end of its call to Result.Done unless that is nil.
//
// The error is a [*NoInstanceError] when the service has nothing to send to,
// whether its list has nothing usable or could not be had; it is the context's
// when that ended first, and [ErrClosed] after Close.
func (l *LoadBalancer) Choose(ctx context.Context, id registry.ServiceID, tried ...*registry.Instance) (Result, error) {
	if l.closed.Load() {
		return Result{}, ErrClosed
	}
	id = id.Normalize()
	snapshot, err := l.discovery.Snapshot(ctx, id)
	if err != nil {
		return Result{}, l.noList(ctx, id, err)
	}
	s := l.services.get(id)
	b := s.built.Load()
	if b == nil || !b.from(snapshot) {
		if b, snapshot, err = l.rebuild(ctx, s, id); err != nil {
			return Result{}, l.noList(ctx, id, err)
		}
	}
	result, err := l.pick(ctx, b, id, tried)
	if errors.Is(err, ErrNoInstance) {
		return Result{}, l.noInstance(ctx, snapshot)
	}
	return result, err
}

// pick asks the picker; if that has nothing new for the call, the one over all
// clusters.
func (l *LoadBalancer) pick(ctx context.Context, b *built, id registry.ServiceID, tried []*registry.Instance) (Result, error) {
	r := l.requests.Get().(*Request)
	r.Context, r.Service, r.Tried = ctx, id, tried
	result, err := b.near.Pick(r)
	if err == nil && b.all != nil && r.wasTried(result.Instance) {
		if result.Done != nil {
			result.Done(Outcome{Err: errNotUsed})
		}
		result, err = b.all.Pick(r)
	}
	*r = Request{}
	l.requests.Put(r)
	return result, err
}

// errNotUsed tells a picker that its choice was not called after all.
var errNotUsed = errors.New("another instance was preferred")

// rebuild works out the picker for the newest list, once for however many
// callers notice that it is new.
func (l *LoadBalancer) rebuild(ctx context.Context, s *state, id registry.ServiceID) (*built, *discovery.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Asked again under the lock, so that a slow caller cannot bring back an
	// older list.
	snapshot, err := l.discovery.Snapshot(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	b := s.built.Load()
	if b != nil && b.from(snapshot) {
		return b, snapshot, nil
	}
	if b == nil && strings.Contains(id.Name, "_") {
		l.log.Warn("java callers cannot name this service in a URL, because of the underscore",
			slog.String("service", id.String()))
	}
	b = l.build(snapshot)
	s.built.Store(b)
	return b, snapshot, nil
}

func (l *LoadBalancer) build(snapshot *discovery.Snapshot) *built {
	known := make([]*registry.Instance, len(snapshot.Instances))
	for i := range snapshot.Instances {
		known[i] = &snapshot.Instances[i]
	}
	usable := l.usable(known)
	b := &built{snapshot: snapshot}
	near := usable
	if l.prefer != nil {
		near = l.prefer(usable)
	}
	b.near = l.policy.Build(near)
	if len(near) < len(usable) {
		b.all = l.policy.Build(usable)
	}
	l.log.Debug("candidates changed", slog.String("service", snapshot.Service.String()),
		slog.Uint64("revision", snapshot.Revision), slog.Int("known", len(known)),
		slog.Int("usable", len(usable)), slog.Int("preferred", len(near)))
	return b
}

// noList turns discovery's error into the one of Choose.
func (l *LoadBalancer) noList(ctx context.Context, id registry.ServiceID, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("choose an instance: %w", err)
	case errors.Is(err, discovery.ErrClosed):
		return fmt.Errorf("choose an instance of %s: %w", id, err)
	}
	return &NoInstanceError{Service: id, Err: err}
}

// Do calls f with an instance of a service and reports how it ended: the way by
// name for everything that is not HTTP. It makes one attempt, since only f knows
// whether a second would be safe; callers that want one use [LoadBalancer.Choose].
func (l *LoadBalancer) Do(ctx context.Context, id registry.ServiceID, f func(context.Context, *registry.Instance) error) error {
	chosen, err := l.Choose(ctx, id)
	if err != nil {
		return err
	}
	outcome := Outcome{Err: errPanicked}
	if chosen.Done != nil {
		defer func() { chosen.Done(outcome) }()
	}
	outcome.Err = f(ctx, chosen.Instance)
	return outcome.Err
}

// errPanicked is the outcome of a call that did not return.
var errPanicked = errors.New("the call panicked")

// Close ends the balancer: every later choice is [ErrClosed]. It is idempotent
// and returns nil.
func (l *LoadBalancer) Close() error {
	l.closed.Store(true)
	return nil
}
