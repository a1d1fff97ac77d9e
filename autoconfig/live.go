package autoconfig

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/fx"
)

// Live is a block of properties that follows the configuration: after a reload it
// holds what was read. [Properties] provides one to the graph beside T, which stays
// as it was at the start; whoever takes it takes changes. It is safe for concurrent
// use.
type Live[T any] struct {
	key     string // the prefix, for messages
	current atomic.Pointer[T]
	// taken says that the graph has handed it out.
	taken atomic.Bool

	mu        sync.Mutex
	listeners []*liveListener[T] // replaced, never changed in place
}

type liveListener[T any] struct{ changed func(before, now T) }

// Load returns the block as it is in effect, always all of one reading. Maps and
// lists in it are shared and must not be changed.
func (l *Live[T]) Load() T { return *l.current.Load() }

// OnChange has f called after each reload that changed the block, when Load
// returns the new one and everything else that changed was applied. The
// configuration was valid as a whole, T's own Validate included. Calls come one
// after another on the goroutine of the reload, which waits for them, so f returns
// soon and does not reload. A panic of f is an error of the reload; the new block
// stays in effect. A reload that begins after cancel has returned does not call f.
func (l *Live[T]) OnChange(f func(before, now T)) (cancel func()) {
	listener := &liveListener[T]{f}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listeners = append(slices.Clip(l.listeners), listener)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.listeners = slices.DeleteFunc(slices.Clone(l.listeners), func(o *liveListener[T]) bool { return o == listener })
	}
}

// liveBlock is a [Live] whatever its type.
type liveBlock interface {
	// prefix is that of the block's keys; inUse says that somebody follows it.
	prefix() string
	inUse() bool
	// adopt takes over what another one of the same type was filled with, and
	// returns what tells the listeners; nil where nothing is different.
	adopt(next liveBlock) (tell func() error)
}

func (l *Live[T]) prefix() string { return l.key }
func (l *Live[T]) inUse() bool    { return l.taken.Load() }

func (l *Live[T]) adopt(next liveBlock) (tell func() error) {
	read := next.(*Live[T]).current.Load()
	before := l.current.Load()
	if reflect.DeepEqual(before, read) {
		return nil
	}
	l.current.Store(read)
	return func() error {
		l.mu.Lock()
		listeners := l.listeners
		l.mu.Unlock()
		var errs []error
		for _, listener := range listeners {
			errs = append(errs, l.call(listener, *before, *read))
		}
		return errors.Join(errs...)
	}
}

func (l *Live[T]) call(listener *liveListener[T], before, now T) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("listener of %s panicked: %v\n%s", l.key, r, debug.Stack())
		}
	}()
	listener.changed(before, now)
	return nil
}

// live makes a block that was declared one to follow.
func live[T any](b *boot, prefix string, target *T) {
	l := &Live[T]{key: prefix}
	l.current.Store(target)
	b.lives = append(b.lives, l)
	b.supplies = append(b.supplies, func() fx.Option {
		return fx.Provide(func() *Live[T] {
			l.taken.Store(true)
			return l
		})
	})
}
