package discovery

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// keepWarm is how long a service without subscribers stays fresh after someone
// asked for it.
const keepWarm = 5 * time.Minute

// entry is what the client keeps about one service.
type entry struct {
	id registry.ServiceID
	// current is what readers take; nil until the first list has come.
	current atomic.Pointer[Snapshot]
	// used says that someone asked since the last look at it. A flag instead of a
	// time, so that reading costs neither a clock nor a contended store.
	used atomic.Bool
	// gone says to whoever holds the entry without a lock that it is no longer the
	// client's.
	gone atomic.Bool

	mu            sync.Mutex
	subscriptions map[*Subscription]struct{}
	// flight is the fetch under way, nil when there is none.
	flight *flight
	// again says that the list must be fetched once more when flight has landed.
	again bool
	// known is what the sources say; nil until they said something. It is what
	// readers take unless there is an override.
	known *Snapshot
	// override is the operator's list, nil without.
	override *failoverList
	// suppliers are the sources that known came from, and parts are their lists
	// where they are united.
	suppliers sourceSet
	parts     [][]registry.Instance
	// revision is that of the newest snapshot.
	revision uint64
	// emptySince is when the sources' answers became empty that are not believed
	// yet.
	emptySince time.Time
	// pushes counts the accepted pushes: a fetch during which it moved brought
	// something older.
	pushes   uint64
	failures int
	lastErr  error
	cacheFor time.Duration
	lastUsed time.Time
	// saved is when the disk last heard of the list.
	saved   time.Time
	dropped bool
	// fresh is true until somebody locks the entry for the first time.
	fresh bool

	// unknown counts the entry among those of services nobody knows; guarded by
	// the client's lock.
	unknown bool

	// told is the list of the last event; it belongs to the goroutine of the
	// events.
	told []registry.Instance

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
	return &entry{id: id, subscriptions: make(map[*Subscription]struct{}), index: notPlanned, fresh: true}
}

// read returns what is known already, without a lock; nil when that is nothing, or
// when there is no entry.
func (e *entry) read() *Snapshot {
	if e == nil || e.gone.Load() {
		return nil
	}
	s := e.current.Load()
	if s != nil {
		e.touch()
	}
	return s
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
	return e.known == nil || !e.known.Stale()
}

// effect is what a list or a failure did to an entry.
type effect struct {
	// changed: readers see another content. renewed: the sources said another one.
	changed, renewed bool
	// broke and recovered: the list became stale, or is no longer. held: it became
	// so because an empty answer is not believed.
	broke, recovered, held bool
	// snapshot is what readers see now.
	snapshot *Snapshot
}

// accept is the one door through which a list comes in, polled or pushed. What
// counts is whether the content differs, never a time stamp, since the clocks of
// two servers differ as well (client rule C-R12). An empty list is not believed
// for the time protect (client rule C-R14). The entry's lock is held.
func (e *entry) accept(a answer, protect time.Duration, now time.Time) effect {
	e.failures, e.lastErr, e.cacheFor = 0, a.partial, a.cacheFor
	list := arrange(e.id, a.instances)
	old := e.known
	empty := len(list) == 0 && e.protecting(protect, now)
	switch {
	case !empty && !errors.Is(a.partial, ErrProtected):
		e.emptySince = time.Time{}
	case e.emptySince.IsZero():
		e.emptySince = now
	}
	if empty {
		return e.stale(ErrProtected, now)
	}
	e.suppliers, e.parts = a.suppliers, a.parts
	next := &Snapshot{Service: e.id, Origin: a.origin, Instances: list, FetchedAt: now}
	var f effect
	if a.partial != nil {
		next.Err, next.StaleSince = a.partial, now
		if old != nil && old.Stale() {
			next.StaleSince = old.StaleSince
		}
	}
	f.renewed = old == nil || !sameContent(old.Instances, list)
	if !f.renewed {
		next.Instances = old.Instances
	}
	wasStale := old != nil && old.Stale()
	f.broke, f.recovered = next.Stale() && !wasStale, !next.Stale() && wasStale
	f.held = f.broke && next.Protected()
	e.known = next
	f.changed = e.show(now)
	f.snapshot = e.current.Load()
	return f
}

// protecting reports whether an empty answer is not believed now. The entry's lock
// is held.
func (e *entry) protecting(protect time.Duration, now time.Time) bool {
	return protect > 0 && e.known != nil && len(e.known.Instances) > 0 &&
		(e.emptySince.IsZero() || now.Sub(e.emptySince) < protect)
}

// fail notes that the list could not be refreshed. The entry's lock is held.
func (e *entry) fail(err error, now time.Time) effect {
	e.failures++
	e.lastErr = err
	return e.stale(err, now)
}

// restore puts a list of the disk in the place of the sources' first, which could
// not be had. The entry's lock is held.
func (e *entry) restore(l savedList, err error, now time.Time) effect {
	e.known = &Snapshot{Service: e.id, Origin: OriginDisk, Instances: arrange(e.id, l.instances), FetchedAt: l.at}
	return e.fail(err, now)
}

// stale marks the list of the sources. The entry's lock is held.
func (e *entry) stale(err error, now time.Time) (f effect) {
	if e.known != nil {
		next := *e.known
		next.Revision, next.Err = 0, err
		if !next.Stale() {
			next.StaleSince = now
			f.broke = true
			f.held = next.Protected()
		}
		e.known = &next
		f.changed = e.show(now)
	}
	f.snapshot = e.current.Load()
	return f
}

// show publishes what readers are to see and reports whether its content is
// another. The entry's lock is held.
func (e *entry) show(now time.Time) (changed bool) {
	next := e.known
	switch {
	case e.override != nil:
		next = &Snapshot{Service: e.id, Origin: OriginFailover, Instances: e.override.instances, FetchedAt: e.override.at}
	case next == nil:
		e.current.Store(nil)
		return false
	case next.Revision != 0: // published before the override
		again := *next
		next, e.known = &again, &again
	}
	old := e.current.Load()
	if changed = old == nil || !sameContent(old.Instances, next.Instances); changed {
		e.revision++
		next.ChangedAt = now
	} else {
		next.Instances, next.ChangedAt = old.Instances, old.ChangedAt
	}
	next.Revision = e.revision
	e.current.Store(next)
	if changed {
		for s := range e.subscriptions {
			s.offer(next)
		}
	}
	return changed
}

// logEffect tells of what matters to whoever reads the log.
func (c *Client) logEffect(f effect) {
	if f.snapshot == nil {
		return
	}
	service := slog.String("service", f.snapshot.Service.String())
	switch {
	case f.recovered:
		c.opt.Logger.Info("a service can be refreshed again", service)
	case f.held:
		c.opt.Logger.Warn("a service has no instance any more, its last list stays in use for a while", service,
			slog.Duration("for", c.opt.EmptyProtection.limit()))
	case f.broke && f.snapshot.Origin == OriginDisk:
		c.opt.Logger.Warn("a list from the disk is in use, the service cannot be looked up", service,
			slog.Time("of", f.snapshot.FetchedAt), slog.Any("error", f.snapshot.Err))
	case f.broke:
		c.opt.Logger.Warn("the last list of a service stays in use, it cannot be refreshed", service, slog.Any("error", f.snapshot.Err))
	}
	if f.changed {
		c.opt.Logger.Debug("list changed", service,
			slog.Uint64("revision", f.snapshot.Revision), slog.Int("instances", len(f.snapshot.Instances)))
	}
}
