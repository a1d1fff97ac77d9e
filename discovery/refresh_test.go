package discovery_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

var errDown = errors.New("the registry is down")

func TestCR11_ConcurrentFirstCallersShareOneFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake()
		s.respond(func(_ context.Context, id registry.ServiceID) (discovery.Listing, error) {
			time.Sleep(time.Second)
			return discovery.Listing{Service: id, Instances: []registry.Instance{inst(1)}}, nil
		})
		c := over(t, s)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				got, err := c.Snapshot(t.Context(), registry.ServiceID{Name: "orders"})
				if err != nil || len(got.Instances) != 1 {
					t.Errorf("got %v, %v", got, err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, 1, s.fetches())
	})
}

func TestCR11_FirstErrorIsReturnedAndNotCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake()
		s.fail(errDown)
		c := over(t, s)
		for range 3 {
			_, err := c.Snapshot(t.Context(), orders)
			require.ErrorIs(t, err, errDown)
			require.ErrorContains(t, err, "public/DEFAULT_GROUP@@orders")
		}
		require.Equal(t, 3, s.fetches(), "each caller asks anew")
		after(10 * time.Minute)
		require.Equal(t, 3, s.fetches(), "nobody is left who would want it")
		s.set(inst(1))
		require.Len(t, snapshot(t, c).Instances, 1)
	})
}

func TestCR11_FirstFetchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake()
		s.hang()
		c := over(t, s)
		began := time.Now()
		_, err := c.Snapshot(t.Context(), orders)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, discovery.DefaultFirstFetchTimeout, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began = time.Now()
		_, err = c.Snapshot(ctx, orders)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 100*time.Millisecond, time.Since(began), "a caller waits no longer than it wants to")
	})
}

func TestCR11_CallerWhoLeavesDoesNotSpoilTheFetchOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake()
		s.respond(func(ctx context.Context, id registry.ServiceID) (discovery.Listing, error) {
			select {
			case <-time.After(time.Second):
				return discovery.Listing{Service: id, Instances: []registry.Instance{inst(1)}}, nil
			case <-ctx.Done():
				return discovery.Listing{}, ctx.Err()
			}
		})
		c := over(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = c.Snapshot(ctx, orders) }()
		synctest.Wait()
		go cancel()
		require.Len(t, snapshot(t, c).Instances, 1)
		require.Equal(t, 1, s.fetches())
	})
}

func TestCR11_LaterFailureKeepsTheListAndMarksItStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		s := newFake(inst(1), inst(2))
		c := newClient(t, discovery.Options{Sources: []discovery.Source{s}, Logger: log.logger()})
		e, _ := subscribe(t, c)
		good := snapshot(t, c)
		require.False(t, good.Stale())

		s.fail(errDown)
		after(10 * time.Second)
		failedAt := time.Now()
		after(time.Hour)
		stale := snapshot(t, c)
		require.True(t, stale.Stale())
		require.Equal(t, failedAt, stale.StaleSince, "it is stale since the first failure")
		require.ErrorIs(t, stale.Err, errDown)
		require.Equal(t, good.Instances, stale.Instances)
		require.Equal(t, good.Revision, stale.Revision)
		require.Equal(t, good.FetchedAt, stale.FetchedAt)
		require.False(t, good.Stale(), "a snapshot that was handed out does not change")

		s.set(inst(1), inst(2))
		after(time.Minute)
		well := snapshot(t, c)
		require.False(t, well.Stale())
		require.NoError(t, well.Err)
		require.Equal(t, good.Revision, well.Revision)
		require.Len(t, e.all(), 1, "an outage is no change")
		require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), "one line when it begins")
		require.Equal(t, 1, strings.Count(log.String(), "level=INFO"), "and one when it ends")
	})
}

func TestBackOff_DoublesUpToItsBoundAndEndsWithSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		subscribe(t, c)
		s.fail(errDown)
		after(250 * time.Second)
		require.Equal(t, []int{10, 2, 4, 8, 16, 32, 60, 60}, s.pauses())
		s.set(inst(1))
		after(80 * time.Second)
		require.Equal(t, []int{60, 10, 10}, s.pauses()[8:11])
		before := len(s.pauses())
		s.fail(errDown)
		after(30 * time.Second)
		require.Equal(t, []int{10, 2, 4, 8}, s.pauses()[before:before+4], "the next outage begins at the beginning")
	})
}

func TestBackOff_SubscriberGetsTheListWhenTheSourceComesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake()
		s.fail(errDown)
		c := newClient(t, discovery.Options{Sources: []discovery.Source{s}, MaxBackOff: 5 * time.Second})
		e, _ := subscribe(t, c)
		after(30 * time.Second)
		require.Equal(t, []int{2, 4, 5, 5, 5, 5}, s.pauses())
		require.Empty(t, e.all())
		s.set(inst(1))
		after(5 * time.Second)
		require.Len(t, e.all(), 1)
	})
}

func TestRefresh_EmptyServiceIsPolledAtTheNormalPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake()
		c := over(t, s)
		e, _ := subscribe(t, c)
		after(65 * time.Second)
		require.Equal(t, []int{10, 10, 10, 10, 10, 10}, s.pauses())
		s.set(inst(1))
		after(10 * time.Second)
		require.Equal(t, []uint64{1, 2}, e.revisions(), "the first instance is seen with the next poll")
	})
}

func TestRefresh_PaceComesFromTheSourceWithinBoundsOrFromTheOption(t *testing.T) {
	for _, c := range []struct {
		name               string
		cacheFor, override time.Duration
		want               time.Duration
	}{
		{"Nacos with push", 10 * time.Second, 0, 10 * time.Second},
		{"source without an opinion", 0, 0, 10 * time.Second},
		{"too often", time.Millisecond, 0, time.Second},
		{"too rarely", 24 * time.Hour, 0, 5 * time.Minute},
		{"negative", -1, 0, 10 * time.Second},
		{"option wins", 10 * time.Second, 42 * time.Second, 42 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake()
				s.respond(func(_ context.Context, id registry.ServiceID) (discovery.Listing, error) {
					return discovery.Listing{Service: id, CacheFor: c.cacheFor}, nil
				})
				client := newClient(t, discovery.Options{Sources: []discovery.Source{s}, RefreshInterval: c.override})
				subscribe(t, client)
				after(c.want - 1)
				require.Equal(t, 1, s.fetches())
				after(1)
				require.Equal(t, 2, s.fetches())
			})
		})
	}
}

func TestRefresh_JitterOnlyShortens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := newClient(t, discovery.Options{Sources: []discovery.Source{s}, Rand: func() float64 { return 0.999999 }})
		subscribe(t, c)
		after(8999 * time.Millisecond)
		require.Equal(t, 1, s.fetches())
		after(2 * time.Millisecond)
		require.Equal(t, 2, s.fetches())
	})
}

func TestCR6_OutageDoesNotPollEverythingAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		for n := range 100 {
			_, err := c.Subscribe(registry.ServiceID{Name: "s" + string(rune('A'+n))}, func(*discovery.Snapshot) {})
			require.NoError(t, err)
		}
		synctest.Wait()
		s.mu.Lock()
		s.most = 0
		s.mu.Unlock()
		s.hang()
		after(5 * time.Minute)
		require.Greater(t, s.fetches(), 200, "every service is tried")
		require.LessOrEqual(t, s.most, 16)
	})
}

func TestCase12_CR14_EmptyAnswerIsAppliedAndTold(t *testing.T) {
	for name, empty := range map[string][]registry.Instance{"empty": {}, "null hosts": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(inst(1))
				c := over(t, s)
				e, _ := subscribe(t, c)
				s.set(empty...)
				after(time.Minute)
				require.Empty(t, snapshot(t, c).Instances)
				require.False(t, snapshot(t, c).Stale())
				require.Equal(t, []uint64{1, 2}, e.revisions(), "told once")

				s.set(inst(1))
				after(10 * time.Second)
				s.push(orders)
				synctest.Wait()
				require.Equal(t, []uint64{1, 2, 3, 4}, e.revisions(), "a pushed one, too")
				require.Empty(t, snapshot(t, c).Instances)
			})
		})
	}
}

func TestIdle_ServiceThatNobodyUsesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		snapshot(t, c)
		for range 20 {
			after(time.Minute)
			snapshot(t, c)
		}
		used := s.fetches()
		require.Greater(t, used, 100, "a service in use is kept fresh")
		after(10 * time.Minute)
		dropped := s.fetches()
		require.Less(t, dropped, used+35)
		after(time.Hour)
		require.Equal(t, dropped, s.fetches(), "then it costs nothing")
		require.Equal(t, uint64(1), snapshot(t, c).Revision, "and begins anew")
		require.Equal(t, dropped+1, s.fetches())
	})
}

func TestCase19_IdleServiceIsNotForgottenInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		snapshot(t, c)
		s.fail(errDown)
		after(time.Hour)
		require.Len(t, snapshot(t, c).Instances, 1)
		s.set(inst(1))
		after(10 * time.Minute)
		before := s.fetches()
		after(time.Hour)
		require.Equal(t, before, s.fetches(), "but afterwards it is")
	})
}
