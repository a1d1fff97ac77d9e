package naming

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// occupy makes the test the writer of a service until release is called.
func occupy(t *testing.T, s *Store, k wire.ServiceKey) (release func()) {
	t.Helper()
	entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		_ = s.change(k, true, func(*draft) error {
			close(entered)
			<-leave
			return nil
		})
	}()
	<-entered
	return func() { close(leave); <-left }
}

func pendingChanges(s *Store, k wire.ServiceKey) int {
	e, _ := s.entry(k)
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.pending)
}

func TestWriters_ABurstCostsOneRevision(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("burst")
	release := occupy(t, s, k)
	const n = 500
	var wg sync.WaitGroup
	for port := range n {
		wg.Go(func() {
			if err := s.Register(k, registration("192.0.2.1", port)); err != nil {
				t.Error(err)
			}
			if r, _ := s.Lookup(k); r == nil || !has(r, at("192.0.2.1", port)) {
				t.Errorf("port %d: a writer does not see its own write", port)
			}
		})
	}
	require.Eventually(t, func() bool { return pendingChanges(s, k) == n }, 10*time.Second, time.Millisecond)
	before := s.revisions.Load()
	release()
	wg.Wait()
	require.Equal(t, uint64(1), s.revisions.Load()-before, "revisions published for %d registrations", n)
	require.Equal(t, n, lookup(t, s, k).Len())
}

func TestWriters_ARefusedChangeDoesNotTouchItsNeighbours(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("mixed")
	release := occupy(t, s, k)
	var wg sync.WaitGroup
	errs := make([]error, 2)
	wg.Go(func() { errs[0] = s.Register(k, registration("192.0.2.1", 1)) })
	wg.Go(func() { errs[1] = s.Patch(k, at("192.0.2.9", 9), Patch{}) })
	require.Eventually(t, func() bool { return pendingChanges(s, k) == 2 }, 10*time.Second, time.Millisecond)
	release()
	wg.Wait()
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], ErrInstanceNotFound)
	require.Equal(t, []int{1}, ports(s, k))
}

func TestWriters_APanicDoesNotLockTheService(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("panic")
	require.Panics(t, func() { _ = s.change(k, true, func(*draft) error { panic("a bug") }) })
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	require.Equal(t, []int{1}, ports(s, k))
}

func TestWriters_NothingToSeeIsNoNewRevision(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("same")
	changes := 0
	s.OnChange(func(wire.ServiceKey) { changes++ })
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	first := lookup(t, s, k)
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	second := lookup(t, s, k)
	require.Equal(t, first.Number(), second.Number())
	require.Same(t, first.shared, second.shared, "encoded answers are kept")
	require.Equal(t, 1, changes)
}

func TestSB03_RegisteringAndDeregisteringAtOnce(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("edge")
	require.NoError(t, s.Register(k, registration("192.0.2.20", 0)))
	var wg sync.WaitGroup
	for worker := range 20 {
		wg.Go(func() {
			for round := range 5 {
				for port := worker*10 + 1; port <= worker*10+10; port++ {
					if err := s.Register(k, registration("192.0.2.20", port)); err != nil {
						t.Error(err)
					}
				}
				for port := worker*10 + 1; port <= worker*10+10; port++ {
					if round == 4 && port%2 == 0 {
						continue
					}
					if err := s.Deregister(k, at("192.0.2.20", port)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	want := []int{0}
	for port := 2; port <= 200; port += 2 {
		want = append(want, port)
	}
	require.Equal(t, want, ports(s, k))
	require.Equal(t, len(want), s.Stats().Instances)
	require.Equal(t, len(want), s.Stats().Healthy)
}

func TestOnChange_MayCallTheStore(t *testing.T) {
	s := newStore(t, Options{})
	k, log := serviceKey("noisy"), serviceKey("log")
	s.OnChange(func(changed wire.ServiceKey) {
		if changed == k {
			r, _ := s.Lookup(k)
			if err := s.Register(log, registration("192.0.2.1", r.Len())); err != nil {
				t.Error(err)
			}
		}
	})
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	require.NoError(t, s.Register(k, registration("192.0.2.1", 2)))
	require.Equal(t, []int{1, 2}, ports(s, log))
}
