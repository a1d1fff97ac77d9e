package autoconfig

import (
	"context"
	"sync"
	"time"

	"go.uber.org/fx"
)

// hookScope is the context of the start or stop under way. All hooks run with it
// instead of with fx's own: once the context it was given has ended, fx runs no
// further stop hooks, not even those that undo a start, and an instance would
// stay registered. So fx is given a context that lives on for a while, and the
// hooks the one that ends.
type hookScope struct {
	mu  sync.Mutex
	ctx context.Context
}

func (s *hookScope) set(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
}

func (s *hookScope) current() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

// run calls f, which is fx's start or stop, so that it has the grace time left
// when ctx has ended.
func (s *hookScope) run(ctx context.Context, grace time.Duration, f func(context.Context) error) error {
	s.set(ctx)
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	release := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-whole.Done():
		}
	})
	defer release()
	return f(whole)
}

// decorate is the decorator of the graph's lifecycle.
func (s *hookScope) decorate(lc fx.Lifecycle) fx.Lifecycle { return scopedLifecycle{lc, s} }

type scopedLifecycle struct {
	fx.Lifecycle
	scope *hookScope
}

// Append implements [fx.Lifecycle].
func (l scopedLifecycle) Append(h fx.Hook) {
	if onStart := h.OnStart; onStart != nil {
		h.OnStart = func(context.Context) error {
			ctx := l.scope.current()
			if err := ctx.Err(); err != nil {
				return err
			}
			return onStart(ctx)
		}
	}
	if onStop := h.OnStop; onStop != nil {
		h.OnStop = func(context.Context) error { return onStop(l.scope.current()) }
	}
	l.Lifecycle.Append(h)
}
