package naming

import (
	"cmp"
	"sync/atomic"
	"time"
)

// Version orders the writes to one register of one record, on all nodes. The
// zero Version is before every other.
type Version struct {
	// Clock is a hybrid logical clock: wall time in milliseconds in the upper 48
	// bits, a counter in the lower 16.
	Clock uint64
	// Node tells writes of different nodes at the same Clock apart.
	Node uint16
}

// Compare is negative when v is the older one, positive when it is the newer.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.Clock, o.Clock), cmp.Compare(v.Node, o.Node))
}

// maxAhead is how far another node's clock may be ahead and still move ours. One
// node with a wrong clock must not infect the others.
const maxAhead = 10 * time.Minute

// maxClock is the latest there can be, in the year 4199. It leaves room to count
// on, and keeps a version that is garbage from being the last one for ever.
const maxClock = 1 << 62

// hybridClock makes versions (Kulkarni et al., "Logical Physical Clocks").
type hybridClock struct {
	node uint16
	wall func() time.Time
	last atomic.Uint64
}

func (c *hybridClock) physical() uint64 { return uint64(c.wall().UnixMilli()) << 16 }

// next returns a version later than stored, than every version that this clock
// made, and than all it observed. So a node never loses to a write it has seen,
// whatever its wall clock says.
func (c *hybridClock) next(stored Version) Version {
	for {
		last := c.last.Load()
		now := max(c.physical(), last+1)
		if !c.last.CompareAndSwap(last, now) {
			continue
		}
		// A stored version far in the future is outdone, but not adopted.
		return Version{Clock: max(now, stored.Clock+1), Node: c.node}
	}
}

// resume moves the clock past what this node's clock was when it last ran, even
// if its wall clock went back since: other nodes know versions it made.
func (c *hybridClock) resume(clock uint64) {
	for {
		last := c.last.Load()
		if clock <= last || c.last.CompareAndSwap(last, clock) {
			return
		}
	}
}

// observe moves the clock past a version from another node. It returns false,
// and does nothing, when that is further ahead than maxAhead.
func (c *hybridClock) observe(v Version) bool {
	if v.Clock > c.physical()+uint64(maxAhead.Milliseconds())<<16 {
		return false
	}
	for {
		last := c.last.Load()
		if v.Clock <= last || c.last.CompareAndSwap(last, v.Clock) {
			return true
		}
	}
}
