package loadbalance

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// circuit remembers the failures of one instance: Ribbon's circuit breaker,
// passive and for this caller alone (client rule D-R12).
type circuit struct {
	// troubled says that there is a failure to forget, so that the success of a
	// sound instance takes no lock.
	troubled atomic.Bool

	mu        sync.Mutex
	failures  int   // connect errors and timeouts in a row
	ejections int   // in a row; failures go on where there may be none
	until     int64 // ejected until, by the balancer's clock; 0 when it is not
}

// end takes in the outcome of a call to e.
func (c *circuit) end(e *endpoint, o *OutlierProperties, err error) {
	if err == nil {
		if c.troubled.Load() {
			c.reset(e)
		}
		return
	}
	if !isConnectError(err) && !isTimeout(err) {
		return // says nothing about whether it can be reached
	}
	now := e.state.balancer.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now < c.until {
		return // a call that began before the ejection
	}
	c.troubled.Store(true)
	c.failures++
	if c.failures < o.Threshold {
		return
	}
	if !e.state.mayEject(e, o.MaxEjectedPercent) {
		return
	}
	c.until = now + int64(tripTime(o, c.ejections))
	c.ejections++
	e.state.version.Add(1)
}

// reset is what one success does.
func (c *circuit) reset(e *endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until != 0 {
		e.state.version.Add(1)
	}
	c.failures, c.ejections, c.until = 0, 0, 0
	c.troubled.Store(false)
}

// tripTime is how long the n-th ejection in a row lasts, from 0.
func tripTime(o *OutlierProperties, n int) time.Duration {
	d := o.Factor
	for range n {
		if d >= o.MaxTimeout/2 {
			return o.MaxTimeout
		}
		d *= 2
	}
	return min(d, o.MaxTimeout)
}

// mayEject reports whether one more instance may be ejected. It looks at the
// list that calls go by.
func (s *state) mayEject(e *endpoint, percent int) bool {
	v := s.view.Load()
	if v == nil {
		return false
	}
	now := s.balancer.now()
	ejected := 1
	for n := range v.usable.candidates {
		if other := v.usable.candidates[n].endpoint; other != e && other.trips.ejected(now) {
			ejected++
		}
	}
	return ejected*100 <= len(v.usable.candidates)*percent
}

// ejected does not wait: two instances that trip at once may ask for each other.
func (c *circuit) ejected(now int64) bool {
	if !c.mu.TryLock() {
		return true // it is being ejected, as likely as not
	}
	defer c.mu.Unlock()
	return now < c.until
}

// look returns the failures in a row and the end of an ejection.
func (c *circuit) look() (failures int, until int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failures, c.until
}

// outlierStage leaves out what is ejected. The share that may be is checked
// again here, since the list may have shrunk: those that are nearest to their
// end come back.
func outlierStage(o *OutlierProperties) Stage {
	return Stage{name: StageOutlier, rank: rankAlive, list: func(b *builder, s stock) []Candidate {
		type ejection struct {
			c     *Candidate
			until int64
		}
		var ejections []ejection
		for n := range s.candidates {
			c := &s.candidates[n]
			if _, until := c.endpoint.trips.look(); b.now < until {
				ejections = append(ejections, ejection{c, until})
			}
		}
		if len(ejections) == 0 {
			return s.candidates
		}
		slices.SortFunc(ejections, func(a, b ejection) int { return cmp.Compare(b.until, a.until) })
		ejections = ejections[:min(len(ejections), len(s.candidates)*o.MaxEjectedPercent/100)]
		out := make(map[*Candidate]bool, len(ejections))
		for _, e := range ejections {
			out[e.c] = true
			b.expire(e.until)
		}
		return keep(s.candidates, func(c *Candidate) bool { return !out[c] })
	}}
}

// isTimeout reports whether a call took too long, by whoever's limit.
func isTimeout(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}
