package loadbalance

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

const (
	// latencyMemory is how fast a latency is forgotten: after this time without
	// news, a new one counts for 63 %.
	latencyMemory = 10 * time.Second
	// failureLatency is what a failed call counts as, so that an instance which
	// refuses quickly does not look like a fast one.
	failureLatency = time.Second
)

// Load is what is known of the calls to one instance. It stays the same for as
// long as the instance is in the list. All methods are safe for concurrent use.
type Load struct {
	active  atomic.Int64
	latency atomic.Int64 // nanoseconds, 0 when not known
	learned atomic.Int64 // when latency was, by the process' clock
}

// Active returns how many calls are under way; 0 where nothing needs to know.
func (l *Load) Active() int64 { return l.active.Load() }

// Latency returns the moving average of the time until a response began; 0 when
// none was measured yet. A slower response counts at once and fades, a faster
// one counts by and by.
func (l *Load) Latency() time.Duration { return time.Duration(l.latency.Load()) }

// learn takes in one measured latency.
func (l *Load) learn(latency time.Duration, now int64) {
	before := l.learned.Swap(now)
	for {
		old := l.latency.Load()
		next := int64(latency)
		if next < old {
			share := math.Exp(-float64(max(0, now-before)) / float64(latencyMemory))
			// Of many answers within a moment each still moves the average a little.
			share = min(share, 0.9)
			next = int64(float64(old)*share + float64(next)*(1-share))
		}
		if l.latency.CompareAndSwap(old, max(next, 1)) {
			return
		}
	}
}

// end takes in the outcome of one call.
func (l *Load) end(o Outcome, now int64) {
	l.active.Add(-1)
	switch {
	case o.Err == nil && o.Latency > 0:
		l.learn(o.Latency, now)
	case isConnectError(o.Err) || isTimeout(o.Err):
		l.learn(max(o.Latency, failureLatency), now)
	}
}

// counting is a picker that counts by itself, for policies that need it and are
// used without a balancer.
type counting struct {
	picker Picker
	loads  map[*registry.Instance]*Load
	began  time.Time
}

func newCounting(picker Picker, candidates []Candidate) Picker {
	c := counting{picker: picker, loads: make(map[*registry.Instance]*Load, len(candidates)), began: time.Now()}
	for _, candidate := range candidates {
		c.loads[candidate.Instance] = candidate.Load
	}
	return c
}

func (c counting) Pick(r *Request) (Result, error) {
	result, err := c.picker.Pick(r)
	if err != nil {
		return result, err
	}
	load := c.loads[result.Instance]
	load.active.Add(1)
	result.Done = func(o Outcome) { load.end(o, int64(time.Since(c.began))) }
	return result, nil
}
