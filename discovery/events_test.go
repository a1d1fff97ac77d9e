package discovery_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// published records what a publisher is told.
type published struct {
	mu     sync.Mutex
	events []any
}

func (p *published) Publish(_ context.Context, event any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, event)
	return nil
}

// take returns what was published since the last call.
func (p *published) take() []any {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	events := p.events
	p.events = nil
	return events
}

func TestInstancesChanged_TellsTheDifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &published{}
		s := newFake(inst(1), inst(2))
		c := newClient(t, discovery.Options{Sources: []discovery.Source{s}, Publisher: p})
		snapshot(t, c)
		require.Equal(t, []any{registry.InstancesChanged{Service: orders, Added: []registry.Instance{inst(1), inst(2)}}}, p.take())
		after(time.Minute)
		require.Empty(t, p.take(), "the same list is no event")
		s.push(orders, inst(2, heavy(5)), inst(3))
		require.Equal(t, []any{registry.InstancesChanged{
			Service: orders, Added: []registry.Instance{inst(3)}, Removed: []registry.Instance{inst(1)},
			Modified: []registry.Instance{inst(2, heavy(5))},
		}}, p.take())
		s.push(orders)
		require.Equal(t, []any{registry.InstancesChanged{
			Service: orders, Removed: []registry.Instance{inst(2, heavy(5)), inst(3)},
		}}, p.take())
	})
}

// A publisher that is slow or broken holds up nobody, and hears what became of it
// in the end.
func TestInstancesChanged_ASlowPublisherHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		p := &published{}
		first := true
		s := newFake(inst(1))
		c := newClient(t, discovery.Options{
			Sources: []discovery.Source{s}, Logger: log.logger(),
			Publisher: registry.PublisherFunc(func(ctx context.Context, event any) error {
				if err := p.Publish(ctx, event); err != nil {
					return err
				}
				if first {
					first = false
					time.Sleep(time.Minute)
					return errors.New("mine")
				}
				panic("mine, too")
			}),
		})
		e, _ := subscribe(t, c)
		s.set(inst(8))
		for n := range byte(9) {
			s.push(orders, inst(n))
			synctest.Wait()
		}
		require.Greater(t, len(e.all()), 5)
		require.Len(t, p.take(), 1)
		after(2 * time.Minute)
		events := p.take()
		require.NotEmpty(t, events)
		require.Equal(t, registry.InstancesChanged{
			Service: orders, Added: []registry.Instance{inst(8)}, Removed: []registry.Instance{inst(1)},
		}, events[0], "the changes meanwhile are one")
		require.Contains(t, log.String(), "mine")
		require.Contains(t, log.String(), "panic: mine, too")
	})
}

func TestInstancesChanged_NothingAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &published{}
		s := newFake(inst(1))
		c := newClient(t, discovery.Options{
			Sources: []discovery.Source{s}, Publisher: p, Heartbeat: discovery.Heartbeat{Enabled: true},
		})
		snapshot(t, c)
		p.take()
		require.NoError(t, c.Close())
		s.push(orders, inst(2))
		after(time.Hour)
		require.Empty(t, p.take())
	})
}

func TestBR5_HeartbeatOnlyWhenTheCatalogueChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &published{}
		s := newFake(inst(1))
		newClient(t, discovery.Options{
			Sources: []discovery.Source{s}, Publisher: p, Heartbeat: discovery.Heartbeat{Enabled: true},
		})
		heartbeat := func() registry.Heartbeat {
			t.Helper()
			events := p.take()
			require.Len(t, events, 1)
			return events[0].(registry.Heartbeat)
		}
		after(29 * time.Second)
		require.Empty(t, p.take())
		after(time.Second)
		first := heartbeat()
		require.Equal(t, []string{"orders"}, first.Services)
		s.set(inst(1), inst(2))
		after(10 * time.Minute)
		require.Empty(t, p.take(), "instances are not the catalogue")
		s.fail(errDown)
		after(10 * time.Minute)
		require.Empty(t, p.take(), "an outage is no change")

		s.set(inst(1), inst(2, func(i *registry.Instance) { i.Service.Name = "stock" }))
		after(30 * time.Second)
		second := heartbeat()
		require.NotEqual(t, first.State, second.State)
		s.set(inst(1))
		after(30 * time.Second)
		require.Equal(t, first.State, heartbeat().State, "the same catalogue, the same state")
	})
}

func TestBR6_StateIsAViewOfEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		require.Empty(t, c.State().Services)
		_, sub := subscribe(t, c)
		began := time.Now()
		after(25 * time.Second)
		state := c.State()
		require.Len(t, state.Services, 1)
		got := state.Services[0]
		require.Equal(t, orders, got.Service)
		require.Equal(t, 1, got.Subscribers)
		require.Equal(t, 10*time.Second, got.CacheFor)
		require.Equal(t, began.Add(30*time.Second), got.NextFetch)
		require.Equal(t, began, got.Snapshot.ChangedAt)
		require.Equal(t, began.Add(20*time.Second), got.Snapshot.FetchedAt)
		require.Equal(t, "fake", got.Snapshot.Origin)

		s.fail(errDown)
		after(10 * time.Second)
		got = c.State().Services[0]
		require.NotZero(t, got.Failures)
		require.ErrorIs(t, got.LastError, errDown)
		require.True(t, got.Snapshot.Stale())
		sub.Close()
		require.NoError(t, c.Close())
		require.Empty(t, c.State().Services)
	})
}
