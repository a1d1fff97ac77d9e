package naming

import (
	"sync"
	"time"
)

// budgetWindow is the time in which no more than half of a service's instances
// are removed. More than half of a service that falls silent at once is more
// likely a fault between it and this node than as many deaths; this delays the
// removal of the rest and never stops it (server case SB-08). One instance may
// always go, so that one of two, and the last one, go when they are due; five
// that die together are gone within three more windows.
const budgetWindow = 3 * time.Second

// removalBudget counts one service's removals in the current window, which the
// first of them opens.
type removalBudget struct {
	ends   time.Duration // on the lease clock
	left   int
	warned bool // of removals that were put off
}

// at returns how many of size instances may be removed now.
func (b *removalBudget) at(now time.Duration, size int) int {
	if now < b.ends {
		return b.left
	}
	return max(1, size/2)
}

// spend notes that of size instances some were removed.
func (b *removalBudget) spend(now time.Duration, size, removed int) {
	if removed == 0 {
		return
	}
	if now >= b.ends {
		*b = removalBudget{ends: now + budgetWindow, left: b.at(now, size)}
	}
	b.left -= removed
}

// expiry marks silent instances unhealthy and removes those that stay silent.
// One goroutine runs it; only schedule may be called by others.
type expiry struct {
	store *Store
	wheel wheel

	mu       sync.Mutex
	incoming []timer
}

// schedule takes timers from writers. It does not wait for the wheel.
func (x *expiry) schedule(timers []timer) {
	if len(timers) == 0 {
		return
	}
	x.mu.Lock()
	x.incoming = append(x.incoming, timers...)
	x.mu.Unlock()
}

// tick fires what is due.
func (x *expiry) tick() {
	x.mu.Lock()
	incoming := x.incoming
	x.incoming = nil
	x.mu.Unlock()
	for _, t := range incoming {
		x.wheel.add(t)
	}

	now := x.store.lease.now()
	var due map[*entry][]timer
	for _, t := range x.wheel.advance(now) {
		if t.live != nil {
			i, ok := t.instance()
			if !ok {
				continue // gone, or it has another timer
			}
			if t.due = x.store.lease.due(i); t.due >= now {
				x.wheel.add(t) // was heard meanwhile
				continue
			}
		}
		if due == nil {
			due = make(map[*entry][]timer)
		}
		due[t.entry] = append(due[t.entry], t)
	}
	for e, timers := range due {
		x.judge(e, timers, now)
	}
}

// instance returns what the timer is for, if it still is.
func (t timer) instance() (*Instance, bool) {
	i, ok := t.entry.revision.Load().Get(t.key)
	return i, ok && i.live == t.live && t.live.turn.Load() == t.turn
}

// judge lets one batch of timers take effect on a service.
func (x *expiry) judge(e *entry, timers []timer, now time.Duration) {
	lease, removing := x.store.lease, !x.store.keepExpired
	size := e.revision.Load().Len()
	allowed := e.budget.at(now, size)
	var judged []*Instance
	removed, held := 0, 0
	err := e.do(func(d *draft) error {
		for _, t := range timers {
			i, ok := d.instances.get(t.key)
			switch {
			case t.live == nil:
				d.dig(t.key)
			case !ok || i.live != t.live:
			case removing && lease.removalDue(i):
				if removed == allowed {
					held++
					continue
				}
				removed++
				d.remove(i)
				judged = append(judged, i)
			case i.Healthy && lease.unhealthyDue(i):
				d.replace(i, i.withHealth(false))
				judged = append(judged, i)
			}
		}
		return nil
	})
	if err != nil {
		return // the service is gone
	}
	e.budget.spend(now, size, removed)
	x.store.metrics.expiries.Add(float64(removed))
	if held > 0 {
		x.store.metrics.held.Add(float64(held))
		if !e.budget.warned {
			e.budget.warned = true
			x.store.warnings.held(e.key, held, size)
		}
	}
	for _, i := range judged {
		if !lease.unhealthyDue(i) && !lease.removalDue(i) {
			e.pardon(i) // a beat came between judgement and publication
		}
	}
	for _, t := range timers {
		if t.live == nil {
			continue
		}
		if i, ok := t.instance(); ok {
			t.due = max(lease.due(i), now+leaseTick)
			if held > 0 {
				t.due = max(t.due, e.budget.ends)
			} else if lease.removalDue(i) {
				t.due = now + i.Intervals.Delete // removal is switched off
			}
			x.wheel.add(t)
		}
	}
}

// pardon undoes a judgement that a beat overtook: the beat looked before the
// judgement was published and reported the instance as known and well.
func (e *entry) pardon(judged *Instance) {
	_ = e.do(func(d *draft) error { // a dead entry has nothing to pardon
		i, ok := d.instances.get(judged.InstanceKey)
		switch {
		case ok && i.live == judged.live && !i.Healthy:
			d.replace(i, i.withHealth(true))
		case !ok && !d.buried(judged.InstanceKey) && d.exists:
			d.insert(judged.withHealth(true))
		}
		return nil
	})
}
