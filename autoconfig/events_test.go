package autoconfig

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

var _ registry.Publisher = (*EventBus)(nil)

func TestEventBus_TypedOrderedSynchronous(t *testing.T) {
	b, j := NewEventBus(), &journal{}
	type event struct{ n int }
	Subscribe(b, func(_ context.Context, e event) error { j.add(fmt.Sprint("first ", e.n)); return nil })
	Subscribe(b, func(_ context.Context, e *event) error { j.add("pointer"); e.n++; return nil })
	Subscribe(b, func(_ context.Context, e fmt.Stringer) error { j.add("stringer " + e.String()); return nil })
	cancel := Subscribe(b, func(_ context.Context, e any) error { j.add(fmt.Sprintf("any %T", e)); return nil })

	require.NoError(t, b.Publish(t.Context(), event{1}))
	require.Equal(t, []string{"first 1", "any autoconfig.event"}, j.all())
	e := &event{1}
	require.NoError(t, b.Publish(t.Context(), e))
	require.Equal(t, 2, e.n, "a pointer's target may be changed")
	cancel()
	cancel()
	require.NoError(t, b.Publish(t.Context(), registry.Instance{}))
	require.Equal(t, []string{"first 1", "any autoconfig.event", "pointer", "any *autoconfig.event"}, j.all())
}

func TestEventBus_ErrorsAreJoinedAndPanicsAreErrors(t *testing.T) {
	b, called := NewEventBus(), 0
	one, two := errors.New("one"), errors.New("two")
	Subscribe(b, func(context.Context, int) error { return one })
	Subscribe(b, func(context.Context, int) error { panic("oh") })
	Subscribe(b, func(context.Context, int) error { called++; return two })
	err := b.Publish(t.Context(), 1)
	require.ErrorIs(t, err, one)
	require.ErrorIs(t, err, two)
	require.ErrorContains(t, err, "listener of int panicked: oh")
	require.Equal(t, 1, called)
}

func TestEventBus_ListenersMaySubscribePublishAndCancel(t *testing.T) {
	b, j := NewEventBus(), &journal{}
	var cancel func()
	cancel = Subscribe(b, func(ctx context.Context, n int) error {
		j.add(fmt.Sprint("outer ", n))
		cancel()
		Subscribe(b, func(_ context.Context, n int) error { j.add(fmt.Sprint("inner ", n)); return nil })
		return b.Publish(ctx, "text")
	})
	require.NoError(t, b.Publish(t.Context(), 1))
	require.NoError(t, b.Publish(t.Context(), 2))
	require.Equal(t, []string{"outer 1", "inner 2"}, j.all())
}

func TestEventBus_IsSafeForConcurrentUse(t *testing.T) {
	b := NewEventBus()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				cancel := Subscribe(b, func(context.Context, int) error { return nil })
				_ = b.Publish(context.Background(), 1)
				cancel()
			}
		})
	}
	wg.Wait()
	require.Empty(t, b.listeners)
}
