package grpclb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// resolverBuilder resolves the names of services for one connection.
type resolverBuilder struct{ balancer *loadbalance.LoadBalancer }

var _ resolver.AuthorityOverrider = resolverBuilder{}

// Scheme implements resolver.Builder.
func (resolverBuilder) Scheme() string { return Scheme }

// OverrideAuthority names the service without its group.
func (b resolverBuilder) OverrideAuthority(t resolver.Target) string {
	return b.balancer.ID(t.Endpoint()).Name
}

// Build follows the service's list until the resolver is closed.
func (b resolverBuilder) Build(t resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	name := t.Endpoint()
	if t.URL.Host != "" || t.URL.User != nil || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q does not name a service: write %s:///name or %[2]s:///GROUP@@name", t.URL.String(), Scheme)
	}
	r := &lbResolver{cc: cc, balancer: b.balancer, service: b.balancer.ID(name).Normalize()}
	r.life, r.end = context.WithCancel(context.Background())
	client := b.balancer.Discovery()
	subscription, err := client.Subscribe(r.service, r.changed)
	if err != nil {
		r.end()
		return nil, err
	}
	r.subscription = subscription
	r.owned.Go(func() {
		// The subscription goes on trying in silence; calls want to know why they
		// have to fail.
		if _, err := client.Snapshot(r.life, r.service); err != nil && r.life.Err() == nil {
			cc.ReportError(&loadbalance.NoInstanceError{Service: r.service, Err: err})
		}
	})
	return r, nil
}

// lbResolver tells gRPC of the lists of one service. A list that is stale stays.
type lbResolver struct {
	cc           resolver.ClientConn
	balancer     *loadbalance.LoadBalancer
	service      registry.ServiceID
	subscription *discovery.Subscription

	// life ends with Close.
	life  context.Context
	end   context.CancelFunc
	owned sync.WaitGroup
}

// update is what the resolver hands to the balancer, as an attribute of the
// state. There are no addresses beside it: a policy that does not know it could
// only go by an order that means nothing.
type update struct {
	life     context.Context
	balancer *loadbalance.LoadBalancer
	snapshot *discovery.Snapshot
	taken    atomic.Bool
}

type updateKey struct{}

var errForeignPolicy = errors.New(`the service config does not name the policy "` + PolicyName + `", by which calls to ` + Scheme + `: targets are balanced`)

func (r *lbResolver) changed(s *discovery.Snapshot) {
	u := &update{life: r.life, balancer: r.balancer, snapshot: s}
	// The error asks for another attempt; discovery makes those by itself.
	_ = r.cc.UpdateState(resolver.State{Attributes: attributes.New(updateKey{}, u)})
	if !u.taken.Load() && r.life.Err() == nil {
		r.cc.ReportError(errForeignPolicy)
	}
}

// ResolveNow does nothing: discovery keeps the list fresh.
func (*lbResolver) ResolveNow(resolver.ResolveNowOptions) {}

// Close ends the subscription.
func (r *lbResolver) Close() {
	r.end()
	r.subscription.Close()
	r.owned.Wait()
}
