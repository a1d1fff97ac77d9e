package discovery

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Subscription is one listener's place; see [Client.Subscribe].
type Subscription struct {
	client *Client
	entry  *entry
	f      func(*Snapshot)

	// pending is the queue of size one: a newer snapshot replaces an older that
	// was not delivered yet.
	pending atomic.Pointer[Snapshot]
	wake    chan struct{}
	stop    chan struct{}
	once    sync.Once
}

func newSubscription(c *Client, e *entry, f func(*Snapshot)) *Subscription {
	return &Subscription{
		client: c, entry: e, f: f,
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
}

// Close ends the subscription. A call of the listener that is under way may
// still finish, none begins afterwards; so Close may be called from the listener
// itself. It does not wait and is idempotent.
func (s *Subscription) Close() {
	s.once.Do(func() {
		close(s.stop)
		e := s.entry
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.subscriptions, s)
		s.pending.Store(nil)
		if !e.dropped && e.idle(time.Now()) {
			s.client.drop(e)
		}
	})
}

// offer hands over a snapshot and never blocks. The entry's lock is held, so a
// newer one is never replaced by an older.
func (s *Subscription) offer(snapshot *Snapshot) {
	s.pending.Store(snapshot)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// deliver is the subscription's goroutine.
func (s *Subscription) deliver() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.client.ctx.Done():
			return
		case <-s.wake:
		}
		if snapshot := s.pending.Swap(nil); snapshot != nil && s.client.ctx.Err() == nil {
			s.call(snapshot)
		}
	}
}

func (s *Subscription) call(snapshot *Snapshot) {
	defer func() {
		if p := recover(); p != nil && s.client.ctx.Err() == nil {
			s.client.opt.Logger.Error("a listener panicked",
				slog.String("service", snapshot.Service.String()), slog.Any("panic", p))
		}
	}()
	s.f(snapshot)
}
