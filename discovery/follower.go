package discovery

import (
	"context"
	"sync"
)

// follower is a goroutine that hears of entries whose list changed. What changes
// again before it got there is one change to it, so that it holds nothing up and
// needs no more room than there are services. It starts with the first note.
type follower struct {
	// handle is called with one entry after the other; it takes the newest list
	// from there. Nil notes nothing.
	handle func(ctx context.Context, e *entry)
	// flush has it work off what is left when the context ends.
	flush bool

	mu      sync.Mutex
	running bool
	waiting []*entry
	queued  map[*entry]bool
	wake    chan struct{}
}

func newFollower(handle func(context.Context, *entry), flush bool) *follower {
	return &follower{handle: handle, flush: flush, queued: make(map[*entry]bool), wake: make(chan struct{}, 1)}
}

// note may be called with the entry's lock held.
func (f *follower) note(c *Client, e *entry) {
	if f.handle == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.queued[e] {
		f.queued[e] = true
		f.waiting = append(f.waiting, e)
	}
	if !f.running {
		f.running = c.run(func() { f.run(c.ctx) })
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *follower) run(ctx context.Context) {
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			if f.flush {
				f.work(ctx, true)
			}
			return
		}
		f.work(ctx, f.flush)
	}
}

func (f *follower) work(ctx context.Context, toTheEnd bool) {
	for toTheEnd || ctx.Err() == nil {
		f.mu.Lock()
		if len(f.waiting) == 0 {
			f.mu.Unlock()
			return
		}
		e := f.waiting[0]
		f.waiting[0] = nil
		f.waiting = f.waiting[1:]
		delete(f.queued, e)
		f.mu.Unlock()
		f.handle(ctx, e)
	}
}
