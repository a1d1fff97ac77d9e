package autoconfig

import (
	"context"
	"sync"
	"time"

	"go.uber.org/fx"
)

// startScope is the context of the start under way. All start hooks run with it
// instead of with fx's own: fx gives up a start whose context has ended without
// running the stop hooks of what had started, and an instance would stay
// registered. So fx is given a context that lives on, and the hooks one that
// ends.
type startScope struct {
	mu  sync.Mutex
	ctx context.Context
}

func (s *startScope) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
}

func (s *startScope) current() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

// decorate is the decorator of the graph's lifecycle.
func (s *startScope) decorate(lc fx.Lifecycle) fx.Lifecycle { return scopedLifecycle{lc, s} }

type scopedLifecycle struct {
	fx.Lifecycle
	scope *startScope
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
	l.Lifecycle.Append(h)
}

// run calls start with a context that outlives ctx by the time to undo what was
// started.
func (s *startScope) run(ctx context.Context, undo time.Duration, start func(context.Context) error) error {
	s.begin(ctx)
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	release := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(undo):
			cancel()
		case <-whole.Done():
		}
	})
	defer release()
	return start(whole)
}
