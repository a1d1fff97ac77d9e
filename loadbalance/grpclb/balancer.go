package grpclb

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// gRPC knows policies by name alone, in a table of the process that may be
// written only while packages are initialised. What is entered there is a name
// without state: the balancer to ask comes with each resolver's list.
func init() { balancer.Register(policyBuilder{}) }

type policyBuilder struct{}

// Name implements balancer.Builder.
func (policyBuilder) Name() string { return PolicyName }

// Build implements balancer.Builder.
func (policyBuilder) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	return newPolicy(cc)
}

// channel is what a policy needs of a balancer.ClientConn.
type channel interface {
	// NewSubConn makes a connection to one address. That gRPC calls it deprecated
	// is about several; there is no other way to have one.
	NewSubConn([]resolver.Address, balancer.NewSubConnOptions) (balancer.SubConn, error)
	UpdateState(balancer.State)
}

// policy keeps a link to each instance of one service. gRPC calls its methods,
// and those of its links that tell of states, one at a time.
//
// It connects at once to the instances that a call which asks for nothing special
// may go to, and to others when a call first wants them. So a caller of a subset,
// or of its own zone, is not connected to everything.
type policy struct {
	cc     channel
	links  map[linkKey]*link
	count  [shutDown]int // of links by their state
	picker *picker       // nil until there is a list
	calls  sync.Pool     // of *call
}

func newPolicy(cc channel) *policy {
	b := &policy{cc: cc, links: map[linkKey]*link{}}
	b.calls.New = func() any { return newCall() }
	return b
}

// UpdateClientConnState implements balancer.Balancer.
func (b *policy) UpdateClientConnState(s balancer.ClientConnState) error {
	u, ok := s.ResolverState.Attributes.Value(updateKey{}).(*update)
	if !ok {
		err := errors.New(`the policy "` + PolicyName + `" balances calls to ` + Scheme + `: targets alone`)
		b.fail(err)
		return err
	}
	u.taken.Store(true)
	ipType := u.balancer.IPType(u.snapshot.Service)
	p := newPicker(u, &b.calls)
	links := make(map[linkKey]*link, len(u.snapshot.Instances))
	for n := range u.snapshot.Instances {
		i := &u.snapshot.Instances[n]
		if !i.Enabled || !(loadbalance.Weight(i) > 0) {
			continue // gets no traffic, and needs no connection
		}
		key := linkKey{i.Key(), addressOf(loadbalance.Reached(i, ipType))}
		l := links[key]
		if l == nil {
			if l = b.links[key]; l == nil {
				if l = b.open(key); l == nil {
					return nil // the connection is being closed
				}
			}
			links[key] = l
		}
		p.byInstance[i], p.byKey[key.Key] = l, l
		if other := loadbalance.Reached(i, loadbalance.IPTypeV6); other != i {
			p.byKey[other.Key()] = l // as the balancer may choose it
		}
	}
	for key, l := range b.links {
		if links[key] == nil {
			b.set(l, shutDown)
			l.conn.Shutdown() // calls under way come to their end
		}
	}
	b.links, b.picker = links, p
	b.connect(u.life)
	b.publish()
	return nil
}

// connect connects to those that a plain call may go to. Where there are none,
// calls say why.
func (b *policy) connect(ctx context.Context) {
	candidates, err := b.picker.balancer.Candidates(ctx, b.picker.service)
	if err != nil {
		return
	}
	for _, i := range candidates {
		if l := b.picker.link(i); l != nil && l.demand() && l.is() == unused {
			b.set(l, pending)
		}
	}
}

// open makes a link; nil when gRPC makes none any more.
func (b *policy) open(key linkKey) *link {
	l := &link{key: key}
	conn, err := b.cc.NewSubConn([]resolver.Address{{Addr: key.address}}, balancer.NewSubConnOptions{
		HealthCheckEnabled: true, // where the service config asks for it
		StateListener:      func(s balancer.SubConnState) { b.changed(l, s) },
	})
	if err != nil {
		return nil
	}
	l.conn = conn
	b.count[unused]++
	return l
}

// set changes a link's state.
func (b *policy) set(l *link, s linkState) {
	b.count[l.is()]--
	l.state.Store(int32(s))
	if s < shutDown {
		b.count[s]++
	}
}

// changed hears of the state of a link.
func (b *policy) changed(l *link, s balancer.SubConnState) {
	if l.is() == shutDown {
		return
	}
	switch s.ConnectivityState {
	case connectivity.Ready:
		b.set(l, ready)
	case connectivity.TransientFailure:
		l.failure.Store(&s.ConnectionError)
		b.set(l, failed)
	case connectivity.Connecting, connectivity.Idle:
		// One that failed counts as that until it is ready, so that calls do not
		// wait through attempt after attempt.
		if l.is() != failed {
			b.set(l, pending)
		}
		if s.ConnectivityState == connectivity.Idle {
			l.conn.Connect() // lost, or after the pause that follows a failure
		}
	}
	b.publish()
}

// publish tells gRPC what can be done now.
func (b *policy) publish() {
	if b.picker == nil {
		return
	}
	state := balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: b.picker}
	switch {
	case b.count[ready] > 0:
		state.ConnectivityState = connectivity.Ready
	case b.count[pending] > 0:
		state.ConnectivityState, state.Picker = connectivity.Connecting, waiting{}
	}
	b.cc.UpdateState(state)
}

// ResolverError implements balancer.Balancer. While there is a list it counts,
// however old.
func (b *policy) ResolverError(err error) {
	if b.picker == nil {
		b.fail(err)
	}
}

func (b *policy) fail(err error) {
	b.cc.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: failing{err}})
}

// UpdateSubConnState is not called, since links have listeners.
func (*policy) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle does nothing: a policy is never idle, and links are connected again by
// themselves.
func (*policy) ExitIdle() {}

// Close implements balancer.Balancer.
func (b *policy) Close() {
	for _, l := range b.links {
		b.set(l, shutDown)
		l.conn.Shutdown()
	}
	b.links = nil
}

// waiting lets calls wait for the first connection.
type waiting struct{}

// Pick implements balancer.Picker.
func (waiting) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}

// failing lets calls fail, or wait where they want to.
type failing struct{ err error }

// Pick implements balancer.Picker.
func (f failing) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, f.err
}

// errNoLink is why a call fails whose instances cannot be connected.
func errNoLink(id registry.ServiceID, l *link) error {
	return fmt.Errorf("no instance of service %q (namespace %s, group %s) can be connected, the last one tried is %s: %w",
		id.Name, id.Namespace, id.Group, l.key.address, *l.failure.Load())
}
