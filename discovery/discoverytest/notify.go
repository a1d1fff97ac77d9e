package discoverytest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// recorder is the receiver of a Notifier's calls.
type recorder struct {
	inside atomic.Int32
	// overlapped says that two calls were under way at the same time.
	overlapped atomic.Bool

	mu     sync.Mutex
	latest map[registry.ServiceID][]registry.Instance
	calls  int
}

func (r *recorder) receive(l discovery.Listing) {
	if r.inside.Add(1) > 1 {
		r.overlapped.Store(true)
	}
	defer r.inside.Add(-1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil {
		r.latest = make(map[registry.ServiceID][]registry.Instance)
	}
	r.latest[l.Service] = l.Instances
	r.calls++
}

func (r *recorder) list(id registry.ServiceID) []registry.Instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest[id]
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// notifying returns a subject whose pushes are recorded, and skips the test of
// sources without.
func notifying(t *testing.T, h Harness) (Subject, *recorder) {
	t.Helper()
	s := newSubject(t, h, catalogue())
	if !s.Pushes || s.Set == nil {
		t.Skip("this source does not push")
	}
	n, ok := s.Source.(discovery.Notifier)
	require.True(t, ok, "a source that pushes is a Notifier")
	r := &recorder{}
	n.Notify(r.receive)
	fetch(t, s.Source, orders)
	return s, r
}

func testNotify(t *testing.T, h Harness) {
	s, r := notifying(t, h)
	want := []registry.Instance{
		instance(orders, "192.0.2.77", 9000),
		instance(orders, "192.0.2.78", 9000, func(i *registry.Instance) { i.Metadata = map[string]string{"Case": "Kept"} }),
	}
	s.Set(orders, want)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.Equal(c, normalised(want), normalised(r.list(orders)))
	}, answerWithin, pollEvery, "the change of a service that was asked for is told")

	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() { s.Set(orders, []registry.Instance{instance(orders, "192.0.2.90", 9000+n)}) })
	}
	wg.Wait()
	last := []registry.Instance{instance(orders, "192.0.2.99", 9999)}
	s.Set(orders, last)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.Equal(c, normalised(last), normalised(r.list(orders)))
	}, answerWithin, pollEvery, "the newest list is told last")
	require.False(t, r.overlapped.Load(), "the calls come one at a time")
}

func testNotifyEnds(t *testing.T, h Harness) {
	s, r := notifying(t, h)
	require.NoError(t, s.Source.Close())
	before := r.count()
	s.Set(orders, []registry.Instance{instance(orders, "192.0.2.77", 9000)})
	require.Equal(t, before, r.count(), "nothing is told after Close")
}
