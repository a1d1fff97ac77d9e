package discovery

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// keepWarm is how long a service without subscribers stays fresh after someone
// asked for it.
const keepWarm = 5 * time.Minute

// noSupplier is the supplier of an entry that has no list yet.
const noSupplier = -1

// entry is what the client keeps about one service.
type entry struct {
	id registry.ServiceID
	// current is what readers take; nil until the first list has come.
	current atomic.Pointer[Snapshot]
	// used says that someone asked since the last look at it. A flag instead of a
	// time, so that reading costs neither a clock nor a contended store.
	used atomic.Bool

	mu            sync.Mutex
	subscriptions map[*Subscription]struct{}
	// flight is the fetch under way, nil when there is none.
	flight *flight
	// again says that the list must be fetched once more when flight has landed.
	again bool
	// supplier is the index of the source that the current list came from.
	supplier int
	// pushes counts the accepted pushes: a fetch during which it moved brought
	// something older.
	pushes   uint64
	failures int
	lastUsed time.Time
	dropped  bool

	// due and index belong to the planner.
	due   time.Time
	index int
}

// flight is one fetch, which any number of callers may wait for. Its results
// are set before done is closed.
type flight struct {
	done     chan struct{}
	snapshot *Snapshot
	err      error
}

func newEntry(id registry.ServiceID) *entry {
	return &entry{
		id: id, subscriptions: make(map[*Subscription]struct{}),
		supplier: noSupplier, index: notPlanned,
	}
}

func (e *entry) touch() {
	if !e.used.Load() {
		e.used.Store(true)
	}
}

// idle reports whether nobody needs the entry any more. A stale one is kept: its
// list could not be had again when it is needed. The entry's lock is held.
func (e *entry) idle(now time.Time) bool {
	if e.used.Swap(false) {
		e.lastUsed = now
	}
	if len(e.subscriptions) > 0 || e.flight != nil || now.Sub(e.lastUsed) <= keepWarm {
		return false
	}
	current := e.current.Load()
	return current == nil || !current.Stale()
}

// accept is the one door through which a list comes in, polled or pushed. What
// counts is whether the content differs, never a time stamp, since the clocks of
// two servers differ as well (client rule C-R12). It reports whether the content
// changed and whether the service was stale until now. The entry's lock is held.
func (e *entry) accept(l Listing, supplier int, now time.Time) (changed, recovered bool) {
	e.supplier = supplier
	e.failures = 0
	old := e.current.Load()
	next := &Snapshot{Service: e.id, Revision: 1, FetchedAt: now}
	next.Instances = arrange(e.id, l.Instances)
	if old != nil {
		recovered = old.Stale()
		next.Revision = old.Revision
		if sameContent(old.Instances, next.Instances) {
			next.Instances = old.Instances
			e.current.Store(next)
			return false, recovered
		}
		next.Revision++
	}
	e.current.Store(next)
	for s := range e.subscriptions {
		s.offer(next)
	}
	return true, recovered
}

// fail marks the current list as stale and reports whether that is new. The
// entry's lock is held.
func (e *entry) fail(err error, now time.Time) (first bool) {
	e.failures++
	old := e.current.Load()
	if old == nil {
		return false
	}
	next := *old
	next.Err = err
	if first = !old.Stale(); first {
		next.StaleSince = now
	}
	e.current.Store(&next)
	return first
}
