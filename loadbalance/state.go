package loadbalance

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// built is what was worked out for one list. It is immutable but for what the
// pickers count.
type built struct {
	snapshot *discovery.Snapshot
	// near picks among the preferred candidates, all among the usable ones; all
	// is nil when these are the same.
	near, all Picker
}

// from reports whether b was built for this content. Snapshots that only
// confirm or lose confidence in a list share its instances.
func (b *built) from(s *discovery.Snapshot) bool {
	if b.snapshot == s {
		return true
	}
	old := b.snapshot.Instances
	return b.snapshot.Revision == s.Revision && len(old) == len(s.Instances) &&
		(len(old) == 0 || &old[0] == &s.Instances[0])
}

// state is what the balancer keeps about one service.
type state struct {
	built atomic.Pointer[built]
	// used says that someone chose since the last sweep.
	used atomic.Bool
	// mu lets one caller build.
	mu sync.Mutex
}

// sweepEvery is how many services a balancer takes up before it asks which are
// still in use.
const sweepEvery = 256

// states finds the state of a service without a lock. The map is replaced as a
// whole; what is kept of services that are called no more is bounded by
// sweeping when new ones come.
type states struct {
	current atomic.Pointer[map[registry.ServiceID]*state]
	mu      sync.Mutex
	sweepAt int
}

func (t *states) init() {
	t.current.Store(&map[registry.ServiceID]*state{})
	t.sweepAt = sweepEvery
}

func (t *states) get(id registry.ServiceID) *state {
	s := (*t.current.Load())[id]
	if s == nil {
		s = t.add(id)
	}
	if !s.used.Load() {
		s.used.Store(true)
	}
	return s
}

func (t *states) add(id registry.ServiceID) *state {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.current.Load()
	if s := old[id]; s != nil {
		return s
	}
	next := maps.Clone(old)
	if len(next) >= t.sweepAt {
		maps.DeleteFunc(next, func(_ registry.ServiceID, s *state) bool { return !s.used.Swap(false) })
		t.sweepAt = len(next) + sweepEvery
	}
	s := new(state)
	next[id] = s
	t.current.Store(&next)
	return s
}
