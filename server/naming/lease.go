package naming

import (
	"sync/atomic"
	"time"
)

const (
	// leaseTick is how often the lease clock advances.
	leaseTick = 100 * time.Millisecond
	// maxAdvance is the most it advances in one tick.
	maxAdvance = 2 * leaseTick
	// stall is a tick so late that this process was not running: stopped,
	// suspended, or starved.
	stall = time.Second
)

// freeze is why time does not count as silence.
type freeze int

const (
	frozenLate   freeze = iota // a tick came late, but the process ran
	frozenStall                // the process was not running
	frozenDeaf                 // nobody at all could be heard
	frozenShed                 // beats were turned away unread
	frozenSwitch               // checking is switched off
	freezes                    // how many there are
)

// lease is the clock by which silence is measured (server case SB-08). It counts
// monotonic time from the store's start, in ticks of at most maxAdvance, so that
// time in which this process could not have heard a beat does not count. And it
// knows a pardon: the moment from which everybody counts as heard. A stall, and
// every tick at which the node must be deaf, turned beats away or checking is
// switched off, renews it; what follows is one full timeout of grace for each instance.
//
// Reading and touching are safe for concurrent use; tick is the expiry
// goroutine's.
type lease struct {
	clock  atomic.Int64
	wall   atomic.Int64 // wall clock of the last tick, Unix milliseconds
	pardon atomic.Int64
	voice  atomic.Int64 // lease time of the last call from outside
	shed   atomic.Bool  // a beat was turned away since the last tick

	hearing hearing // the expiry goroutine's
}

func newLease(wall time.Time) *lease {
	l := &lease{}
	l.wall.Store(wall.UnixMilli())
	return l
}

func (l *lease) now() time.Duration { return time.Duration(l.clock.Load()) }

// heard notes that somebody called. The store is skipped while it would change
// nothing, so that cores do not fight over it.
func (l *lease) heard() {
	if now := l.clock.Load(); l.voice.Load() != now {
		l.voice.Store(now)
	}
}

// turnedAway notes that a beat came that nobody read: whoever sent it is not silent,
// and may be anybody (server case SB-20).
func (l *lease) turnedAway() {
	l.heard()
	if !l.shed.Load() {
		l.shed.Store(true)
	}
}

// touch records a sign of life of an instance, to the precision of a tick.
func (l *lease) touch(live *liveness) {
	live.seen.Store(l.clock.Load())
	live.wall.Store(l.wall.Load())
}

// raise records a sign of life that a peer saw at the given time; the later one
// wins. It says whether that was news.
func (l *lease) raise(live *liveness, seen, age time.Duration) bool {
	for {
		old := live.seen.Load()
		if int64(seen) <= old {
			return false
		}
		if live.seen.CompareAndSwap(old, int64(seen)) {
			live.wall.Store(l.wall.Load() - age.Milliseconds())
			return true
		}
	}
}

// lastSign is when the instance was last heard, or pardoned.
func (l *lease) lastSign(i *Instance) time.Duration {
	return time.Duration(max(i.live.seen.Load(), l.pardon.Load()))
}

// due is when something is to happen to the instance if it stays silent. An
// instance whose delete timeout is the shorter one never becomes unhealthy.
func (l *lease) due(i *Instance) time.Duration {
	if i.Healthy {
		return l.lastSign(i) + min(i.Intervals.Timeout, i.Intervals.Delete)
	}
	return l.lastSign(i) + i.Intervals.Delete
}

func (l *lease) unhealthyDue(i *Instance) bool { return l.now()-l.lastSign(i) > i.Intervals.Timeout }

func (l *lease) removalDue(i *Instance) bool { return l.now()-l.lastSign(i) > i.Intervals.Delete }

// tick advances the clock by the real time since the last tick and returns how
// much of it does not count for expiry, and why; where there are two reasons, the
// first of stall, switch, beats turned away, and deafness. beats is the running total of beats;
// suspended says that checking is switched off.
func (l *lease) tick(gap time.Duration, wall time.Time, beats uint64, suspended bool) (frozen time.Duration, why freeze) {
	advance := max(0, min(gap, maxAdvance))
	now := l.clock.Add(int64(advance))
	l.wall.Store(wall.UnixMilli())

	deaf := l.hearing.tick(advance, time.Duration(now-l.voice.Load()), beats)
	shed := l.shed.Load() && l.shed.Swap(false)
	switch {
	case gap > stall:
		l.pardon.Store(now)
		return gap - advance, frozenStall
	case suspended:
		l.pardon.Store(now)
		return gap, frozenSwitch
	case shed:
		l.pardon.Store(now)
		return gap, frozenShed
	case deaf:
		l.pardon.Store(now)
		return gap, frozenDeaf
	}
	return gap - advance, frozenLate
}
