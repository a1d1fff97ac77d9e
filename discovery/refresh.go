package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/registry"
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
	if len(c.opt.Sources) > 1 && (source > 0 || len(l.Instances) == 0) {
		// Only the whole order of the sources can say whether this is the answer.
		c.refetch(e)
		e.mu.Unlock()
		return
	}
	e.pushes++
	now := time.Now()
	changed, recovered := e.accept(l, source, now)
	current := e.current.Load()
	if e.flight == nil {
		c.plan(e, c.interval(l.CacheFor))
	}
	e.mu.Unlock()
	c.logAccepted(current, changed, recovered)
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
	supplier, pushes := e.supplier, e.pushes
	e.mu.Unlock()

	timeout := refreshTimeout
	if supplier == noSupplier {
		timeout = c.opt.FirstFetchTimeout
	}
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	l, source, err := c.ask(ctx, e.id, supplier)
	cancel()
	if c.ctx.Err() != nil {
		f.err = ErrClosed
		return
	}

	e.mu.Lock()
	now := time.Now()
	e.flight = nil
	pause := c.interval(l.CacheFor)
	var changed, recovered, broke bool
	switch {
	case err != nil:
		broke = e.fail(err, now)
		pause = c.backOff(e.failures)
	case e.pushes != pushes:
		// A push overtook the answer.
		e.failures = 0
	default:
		changed, recovered = e.accept(l, source, now)
	}
	if e.again {
		e.again, pause = false, 0
	}
	current := e.current.Load()
	if f.snapshot = current; current == nil {
		f.err = err
	}
	if len(e.subscriptions) == 0 && current == nil || e.idle(now) {
		c.drop(e)
	} else {
		c.plan(e, pause)
	}
	e.mu.Unlock()
	c.logAccepted(current, changed, recovered)
	if broke {
		c.opt.Logger.Warn("the last list of a service stays in use, it cannot be refreshed",
			slog.String("service", e.id.String()), slog.Any("error", err))
	}
}

// ask asks the sources in order for the first non-empty list and returns the
// index of the one that had it.
//
// A failing source is passed over only while it is not the one whose list is in
// use: an outage keeps the old list rather than replace it by a lower source's
// (client rule C-R11). For the same reason an empty answer is believed only when
// every source answered.
func (c *Client) ask(ctx context.Context, id registry.ServiceID, supplier int) (Listing, int, error) {
	var errs []error
	var empty Listing
	emptyFrom := noSupplier
	for i, s := range c.opt.Sources {
		l, err := c.askOne(ctx, s, id, len(c.opt.Sources)-i)
		if err != nil {
			errs = append(errs, fmt.Errorf("fetch from %s: %w", s.Name(), err))
			if i == supplier || ctx.Err() != nil {
				break
			}
			continue
		}
		if len(l.Instances) > 0 {
			return l, i, nil
		}
		if emptyFrom == noSupplier {
			empty, emptyFrom = l, i
		}
	}
	if len(errs) > 0 {
		return Listing{}, noSupplier, errors.Join(errs...)
	}
	return empty, emptyFrom, nil
}

// askOne fetches from one source and leaves the others that are still to be
// asked their share of the time: one that never answers must not be taken for
// all.
func (c *Client) askOne(ctx context.Context, s Source, id registry.ServiceID, left int) (Listing, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	l, err := s.Fetch(ctx, id)
	c.metrics.fetched(s.Name(), len(l.Instances), err)
	return l, err
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

func (c *Client) logAccepted(s *Snapshot, changed, recovered bool) {
	if recovered {
		c.opt.Logger.Info("a service can be refreshed again", slog.String("service", s.Service.String()))
	}
	if changed {
		c.opt.Logger.Debug("list changed", slog.String("service", s.Service.String()),
			slog.Uint64("revision", s.Revision), slog.Int("instances", len(s.Instances)))
	}
}
