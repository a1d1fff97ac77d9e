package autoconfig

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	discoverymemory "github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/registry"
	registrymemory "github.com/rollcall-go/rollcall/registry/memory"
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

func TestBR5_AHeartbeatWhenTheCatalogueChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registrymemory.New()
		var beats [][]string
		listener, _ := inMemory(t)
		start(t, ConfigYAML(quiet), Backend(r, discoverymemory.FromRegistry(r)), listener,
			Property("cloud.nacos.discovery.heart-beat.enabled", true), Property("cloud.nacos.discovery.watch-delay", "10s"),
			fx.Invoke(func(b *EventBus) {
				Subscribe(b, func(_ context.Context, e registry.Heartbeat) error {
					beats = append(beats, e.Services)
					return nil
				})
			}))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, [][]string{{"orders"}}, beats, "once, not each time it was looked at")
		require.NoError(t, r.Register(t.Context(), registry.Registration{Instance: registry.NewInstance(registry.ServiceID{Name: "users"}, "127.0.0.1", 1)}))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"orders", "users"}, beats[1])
	})
}
