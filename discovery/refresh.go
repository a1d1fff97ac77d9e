package discovery

import (
	"context"
	"time"
)

const (
	// defaultInterval applies when the source leaves the pace to the client.
	defaultInterval = 10 * time.Second
	// minInterval and maxInterval bound what a source may ask for.
	minInterval = time.Second
	maxInterval = 5 * time.Minute
	// firstBackOff doubles with each failure, as in Nacos' client: 2 s, 4 s, 8 s.
	firstBackOff = time.Second
	// refreshTimeout is the outer bound of a fetch nobody waits for; sources
	// bound themselves more tightly.
	refreshTimeout = 30 * time.Second
	// jitter is the share by which a pause may be shorter, so that services that
	// were first used together do not stay together.
	jitter = 0.1
)

// push takes a list that a source learned of by itself.
func (c *Client) push(source int, l Listing) {
	e := (*c.entries.Load())[l.Service.Normalize()]
	if e == nil {
		return // nobody asked
	}
	e.mu.Lock()
	if e.dropped {
		e.mu.Unlock()
		return
	}
	if len(c.opt.Sources) > 1 && (c.opt.Merge == MergeUnion || source > 0 || len(l.Instances) == 0) {
		// Only the whole order of the sources can say whether this is the answer.
		c.refetch(e)
		e.mu.Unlock()
		return
	}
	e.pushes++
	now := time.Now()
	a := answer{
		instances: l.Instances, cacheFor: l.CacheFor,
		suppliers: sourceSet(0).with(source), origin: c.opt.Sources[source].Name(),
	}
	f := e.accept(a, c.opt.EmptyProtection.limit(), now)
	c.follow(e, f, now)
	if e.flight == nil {
		c.plan(e, c.pause(e, now))
	}
	e.mu.Unlock()
	c.logEffect(f)
}

// refetch has the entry's list fetched at once. Its lock is held.
func (c *Client) refetch(e *entry) {
	if e.flight != nil {
		e.again = true
		return
	}
	c.plan(e, 0)
}

// plan has the entry fetched after a pause. Its lock is held.
func (c *Client) plan(e *entry, pause time.Duration) {
	c.polls.set(e, time.Now().Add(pause))
	c.mu.Lock()
	start := !c.polling && !c.closed
	if start {
		c.polling = true
		c.owned.Go(func() { c.polls.run(c.ctx, c.poll) })
	}
	c.mu.Unlock()
}

// poll starts the fetch of an entry that is due. It does not wait for the fetch;
// landed is called when it has ended.
func (c *Client) poll(e *entry, landed func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	// A flight plans the next poll when it lands.
	if e.dropped || e.flight != nil || !c.takeOff(e, landed) {
		landed()
	}
}

// fly returns the fetch under way, and starts one when there is none. The
// entry's lock is held.
func (c *Client) fly(e *entry) (*flight, error) {
	if e.flight == nil && !c.takeOff(e, func() {}) {
		return nil, ErrClosed
	}
	return e.flight, nil
}

// takeOff starts a fetch and calls landed when it has ended; false when the
// client was closed. The entry's lock is held.
func (c *Client) takeOff(e *entry, landed func()) bool {
	f := &flight{done: make(chan struct{})}
	if !c.run(func() { defer landed(); c.refresh(e, f) }) {
		return false
	}
	e.flight = f
	return true
}

// refresh is one fetch from beginning to end, including the plan for the next
// or the end of an entry that nobody uses.
func (c *Client) refresh(e *entry, f *flight) {
	defer close(f.done)
	e.mu.Lock()
	suppliers, parts, pushes, first := e.suppliers, e.parts, e.pushes, e.known == nil
	protect := e.protecting(c.opt.EmptyProtection.limit(), time.Now())
	e.mu.Unlock()

	timeout := refreshTimeout
	if first {
		timeout = c.opt.FirstFetchTimeout
	}
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	a, err := c.ask(ctx, e.id, suppliers, parts, protect)
	cancel()
	if c.ctx.Err() != nil {
		f.err = ErrClosed
		return
	}
	var saved *savedList
	if err != nil && first {
		saved = c.saved(e.id)
	}

	e.mu.Lock()
	now := time.Now()
	e.flight = nil
	var done effect
	switch {
	case err != nil && e.known == nil && saved != nil:
		done = e.restore(*saved, err, now)
	case err != nil:
		done = e.fail(err, now)
	case e.pushes != pushes:
		// A push overtook the answer.
		e.failures, e.lastErr = 0, nil
		done.snapshot = e.current.Load()
	default:
		done = e.accept(a, c.opt.EmptyProtection.limit(), now)
	}
	c.follow(e, done, now)
	pause := c.pause(e, now)
	if e.again {
		e.again, pause = false, 0
	}
	if f.snapshot = done.snapshot; f.snapshot == nil {
		f.err = err
	}
	alone := len(e.subscriptions) == 0
	admitted := c.admit(e, alone && f.snapshot != nil && len(f.snapshot.Instances) == 0)
	if alone && (f.snapshot == nil || !admitted) || e.idle(now) {
		c.drop(e)
	} else {
		c.plan(e, pause)
	}
	e.mu.Unlock()
	c.logEffect(done)
}

// follow has those hear of a list who follow all lists: the events and the disk.
// The entry's lock is held.
func (c *Client) follow(e *entry, f effect, now time.Time) {
	if f.changed {
		c.events.note(c, e)
	}
	// What is new in a list that is incomplete, or not believed, is saved when it no
	// longer is.
	if c.disk != nil && e.known != nil && !e.known.Stale() && (f.renewed || f.recovered || now.Sub(e.saved) > c.disk.touchEvery) {
		e.saved = now
		c.disk.changes.note(c, e)
	}
}

// pause is the time until the next fetch of an entry. Its lock is held.
func (c *Client) pause(e *entry, now time.Time) time.Duration {
	if e.failures > 0 {
		return c.backOff(e.failures)
	}
	pause := c.interval(e.cacheFor)
	if !e.emptySince.IsZero() {
		// Not later than the end of the protection.
		pause = min(pause, max(0, c.opt.EmptyProtection.limit()-now.Sub(e.emptySince)))
	}
	return pause
}

// interval is the pause after a good answer. An empty one is no reason to ask
// more rarely, as Nacos' client does: the first instance would stay unseen.
func (c *Client) interval(cacheFor time.Duration) time.Duration {
	switch {
	case c.opt.RefreshInterval > 0:
		return c.shorten(c.opt.RefreshInterval)
	case cacheFor <= 0:
		return c.shorten(defaultInterval)
	default:
		return c.shorten(min(max(cacheFor, minInterval), maxInterval))
	}
}

// backOff is the pause after the n-th failure in a row.
func (c *Client) backOff(n int) time.Duration {
	// 1 s << 20 is above any bound worth setting, and far from overflowing.
	return c.shorten(min(firstBackOff<<min(n, 20), c.opt.MaxBackOff))
}

func (c *Client) shorten(d time.Duration) time.Duration {
	return d - time.Duration(c.opt.Rand()*jitter*float64(d))
}
