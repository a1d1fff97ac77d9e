package autoconfig

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// EventBus carries the events of the application to whoever listens: the types
// are in package registry, and an application may publish its own. It implements
// registry.Publisher. The zero value is ready; it is safe for concurrent use.
type EventBus struct {
	mu        sync.Mutex
	listeners []*listener // replaced, never changed in place
}

type listener struct {
	handle func(ctx context.Context, event any) error
}

// NewEventBus returns a bus without listeners.
func NewEventBus() *EventBus { return &EventBus{} }

// Subscribe has f called with every event of type T, which may be an interface,
// in the order of subscription. f runs on the goroutine of whoever publishes; it
// may publish, subscribe and cancel itself. A publication that is under way when
// cancel is called may still reach f.
func Subscribe[T any](b *EventBus, f func(ctx context.Context, event T) error) (cancel func()) {
	l := &listener{handle: func(ctx context.Context, event any) error {
		e, ok := event.(T)
		if !ok {
			return nil
		}
		return f(ctx, e)
	}}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = append(slices.Clip(b.listeners), l)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.listeners = slices.DeleteFunc(slices.Clone(b.listeners), func(o *listener) bool { return o == l })
	}
}

// Publish calls the listeners one after another, all of them, and returns their
// errors joined. A panic is the error of that listener.
func (b *EventBus) Publish(ctx context.Context, event any) error {
	b.mu.Lock()
	listeners := b.listeners
	b.mu.Unlock()
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.call(ctx, event))
	}
	return errors.Join(errs...)
}

func (l *listener) call(ctx context.Context, event any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("listener of %T panicked: %v\n%s", event, r, debug.Stack())
		}
	}()
	return l.handle(ctx, event)
}
