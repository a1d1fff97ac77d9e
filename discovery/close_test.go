package discovery_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// The bubble fails the test when a goroutine is left.
func TestCase17_NothingIsLeftAfterClose(t *testing.T) {
	for name, prepare := range map[string]func(*fakeSource){
		"registry up":           func(s *fakeSource) { s.set(inst(1)) },
		"registry down":         func(s *fakeSource) { s.fail(errDown) },
		"registry black-holed":  (*fakeSource).hang,
		"nothing was asked for": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for range 100 {
					s := newFake()
					c := over(t, s)
					if prepare != nil {
						prepare(s)
						subscribe(t, c)
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						_, _ = c.Snapshot(ctx, orders)
						cancel()
					}
					require.NoError(t, c.Close())
					require.NoError(t, c.Close())
					require.Equal(t, 1, s.closed, "the client closes its sources, once")
				}
			})
		})
	}
}

func TestCase17_ConstructorThatFailsLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []discovery.Options{
			{},
			{Sources: []discovery.Source{nil}},
			{Sources: []discovery.Source{newFake()}, RefreshInterval: -1, MaxBackOff: -1, FirstFetchTimeout: -1},
		} {
			_, err := discovery.New(o)
			require.Error(t, err)
		}
	})
}

func TestCase18_CR4_CloseIsBoundedAndSilent(t *testing.T) {
	for name, deaf := range map[string]bool{"never answers": false, "never returns": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logBuffer
				s := newFake(inst(1))
				c := newClient(t, discovery.Options{Sources: []discovery.Source{s}, Logger: log.logger()})
				calls := &events{}
				for n := range 200 {
					_, err := c.Subscribe(registry.ServiceID{Name: fmt.Sprint("service-", n)}, calls.listen)
					require.NoError(t, err)
				}
				synctest.Wait()
				s.hang()
				release := make(chan struct{})
				if deaf {
					s.respond(func(context.Context, registry.ServiceID) (discovery.Listing, error) {
						<-release
						return discovery.Listing{}, errDown
					})
				}
				after(11 * time.Second) // the polls are under way
				told, logged, began := len(calls.all()), log.String(), time.Now()

				err := c.Close()
				require.Less(t, time.Since(began), 2500*time.Millisecond)
				require.Equal(t, deaf, err != nil, "what did not end is said: %v", err)
				close(release)
				s.push(orders, inst(2))
				after(time.Hour)
				require.Equal(t, logged, log.String(), "no line after Close")
				require.Len(t, calls.all(), told, "no call after Close")
			})
		})
	}
}

func TestClose_EndsWaitingCallersAndRefusesNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake()
		release := make(chan struct{})
		s.respond(func(context.Context, registry.ServiceID) (discovery.Listing, error) {
			<-release // and never mind the context
			return discovery.Listing{}, errDown
		})
		c := over(t, s)
		waiting := make(chan error, 1)
		go func() {
			_, err := c.Snapshot(t.Context(), orders)
			waiting <- err
		}()
		synctest.Wait()
		began := time.Now()
		go func() { _ = c.Close() }()
		require.ErrorIs(t, <-waiting, discovery.ErrClosed)
		require.Equal(t, began, time.Now(), "at once")
		close(release)
		_, err := c.Snapshot(t.Context(), orders)
		require.ErrorIs(t, err, discovery.ErrClosed)
		_, err = c.Subscribe(orders, func(*discovery.Snapshot) {})
		require.ErrorIs(t, err, discovery.ErrClosed)
		_, err = c.Services(t.Context())
		require.ErrorIs(t, err, discovery.ErrClosed)
	})
}

type stubborn struct{ *fakeSource }

func (stubborn) Close() error { return errDown }

func TestClose_TellsWhichSourceDidNotClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := over(t, stubborn{newFake()})
		for range 2 {
			err := c.Close()
			require.ErrorIs(t, err, errDown)
			require.ErrorContains(t, err, "close source fake")
		}
	})
}

func TestClose_KnownServiceIsRefusedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := over(t, newFake(inst(1)))
		snapshot(t, c)
		require.NoError(t, c.Close())
		_, err := c.Snapshot(t.Context(), orders)
		require.ErrorIs(t, err, discovery.ErrClosed)
	})
}
