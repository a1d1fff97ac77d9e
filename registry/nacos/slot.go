package nacos

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// slot is the place of one registration. Whoever changes what the registry
// server knows of it holds its turn: Register, Deregister, SetStatus, and the
// beat loop when it restores a lost instance. Thus a restored instance never
// overwrites a status that was just set.
type slot struct {
	// turn holds one token, so that waiting for it can end with a context.
	turn chan struct{}
	// users counts who holds or awaits the turn; guarded by Registry.mu.
	users int
	// kept is the registration while it is kept, else nil; written with the turn
	// and Registry.mu, read with either.
	kept *keeper
}

// enter waits for the turn of a key. The returned context also ends with the
// registry; leave gives the turn back.
func (r *Registry) enter(ctx context.Context, key registry.Key) (_ context.Context, _ *slot, leave func(), _ error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, nil, nil, registry.ErrClosed
	}
	s := r.slots[key]
	if s == nil {
		s = &slot{turn: make(chan struct{}, 1)}
		r.slots[key] = s
	}
	s.users++
	r.mu.Unlock()

	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.ctx, cancel)
	drop := func() {
		stop()
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		if s.users--; s.users == 0 && s.kept == nil {
			delete(r.slots, key)
		}
	}
	leave = func() { <-s.turn; drop() }
	select {
	case s.turn <- struct{}{}:
		// Even with a context that is done: Deregister still ends the beats.
		return ctx, s, leave, nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return ctx, s, leave, nil
	case <-ctx.Done():
		err := r.explain(fmt.Errorf("wait for another change of the registration: %w", ctx.Err()))
		drop()
		return nil, nil, nil, err
	}
}

// keep has a slot keep a registration and starts its beats; the caller has the
// turn, and the slot is empty.
func (r *Registry) keep(s *slot, k *keeper) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return registry.ErrClosed
	}
	s.kept = k
	k.start()
	return nil
}

// release ends the beats of what a slot keeps, empties it and returns what it
// kept, nil if nothing; the caller has the turn. A beat in flight is waited for
// during at most half of the time that is left: the other half belongs to what
// the caller does next.
func (r *Registry) release(ctx context.Context, s *slot) *keeper {
	k := s.kept
	if k == nil {
		return nil
	}
	patience := r.client.RequestTimeout()
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/2)
	}
	k.stop(ctx, patience)
	r.mu.Lock()
	defer r.mu.Unlock()
	s.kept = nil
	return k
}
