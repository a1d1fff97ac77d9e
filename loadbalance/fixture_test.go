package loadbalance_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

var errDown = errors.New("the registry is down")

// flakySource is a memory source without pushes that can be down.
type flakySource struct {
	*memory.Source
	mu   sync.Mutex
	err  error
	hung bool
}

func (s *flakySource) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *flakySource) Notify(func(discovery.Listing)) {}

func (s *flakySource) Fetch(ctx context.Context, id registry.ServiceID) (discovery.Listing, error) {
	s.mu.Lock()
	err, hung := s.err, s.hung
	s.mu.Unlock()
	if hung {
		<-ctx.Done()
		return discovery.Listing{}, ctx.Err()
	}
	if err != nil {
		return discovery.Listing{}, err
	}
	l, err := s.Source.Fetch(ctx, id)
	l.CacheFor = 10 * time.Second
	return l, err
}

// inst is an instance of orders at 192.0.2.n:8080.
func inst(n int, edits ...func(*registry.Instance)) registry.Instance {
	i := registry.NewInstance(orders, "192.0.2."+string(rune('0'+n)), 8080)
	for _, edit := range edits {
		edit(&i)
	}
	return i
}

func in(cluster string) func(*registry.Instance) {
	return func(i *registry.Instance) { i.Cluster = cluster }
}
func unhealthy(i *registry.Instance)  { i.Healthy = false }
func disabled(i *registry.Instance)   { i.Enabled = false }
func weightless(i *registry.Instance) { i.Weight = 0 }

// balancer returns a balancer over a source, with the discovery between.
func balancer(t testing.TB, s discovery.Source, o loadbalance.Options) *loadbalance.LoadBalancer {
	t.Helper()
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{s}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	o.Discovery = c
	l, err := loadbalance.New(o)
	require.NoError(t, err)
	return l
}

// having returns a balancer over these instances of orders.
func having(t testing.TB, o loadbalance.Options, instances ...registry.Instance) *loadbalance.LoadBalancer {
	t.Helper()
	s := memory.New()
	s.Set(orders, instances...)
	return balancer(t, s, o)
}

// chosen returns the last digits that many choices came to, with their counts.
func chosen(t *testing.T, l *loadbalance.LoadBalancer, tried ...*registry.Instance) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for range 200 {
		r, err := l.Choose(t.Context(), orders, tried...)
		require.NoError(t, err)
		counts[r.Instance.IP[len("192.0.2."):]]++
	}
	return counts
}

func keys(counts map[string]int) string {
	all := ""
	for n := '0'; n <= '9'; n++ {
		if counts[string(n)] > 0 {
			all += string(n)
		}
	}
	return all
}

// learning is a policy that takes the instances in order of attempts and
// records what becomes of its picks.
type learning struct {
	mu       sync.Mutex
	picked   int
	outcomes []loadbalance.Outcome
	twice    bool
}

func (*learning) Name() string { return "learning" }

func (p *learning) Build(instances []*registry.Instance) loadbalance.Picker {
	return learningPicker{p, instances}
}

type learningPicker struct {
	*learning
	instances []*registry.Instance
}

func (p learningPicker) Pick(r *loadbalance.Request) (loadbalance.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.instances) == 0 {
		return loadbalance.Result{}, loadbalance.ErrNoInstance
	}
	p.picked++
	done := false
	return loadbalance.Result{
		Instance: p.instances[min(len(r.Tried), len(p.instances)-1)],
		Done: func(o loadbalance.Outcome) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.twice = p.twice || done
			done = true
			p.outcomes = append(p.outcomes, o)
		},
	}, nil
}

// requireEnded checks that every pick has ended, once.
func (p *learning) requireEnded(t *testing.T, picks int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Equal(t, picks, p.picked)
	require.Len(t, p.outcomes, picks)
	require.False(t, p.twice, "an outcome was told twice")
}
