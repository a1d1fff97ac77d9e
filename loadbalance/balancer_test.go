package loadbalance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func TestDR1_OnlyUsableInstancesAreChosen(t *testing.T) {
	l := having(t, loadbalance.Options{}, inst(1), inst(2, unhealthy), inst(3, disabled), inst(4, weightless), inst(5))
	require.Equal(t, "15", keys(chosen(t, l)))
}

func TestDR2_UsableHoldsForEveryPolicy(t *testing.T) {
	for _, p := range policies(nil) {
		l := having(t, loadbalance.Options{Policy: p}, inst(1), inst(2, unhealthy), inst(3, disabled), inst(4, weightless), inst(5))
		require.Equal(t, "15", keys(chosen(t, l)), p.Name())
	}
}

func TestDR1_SameClusterIsPreferredElseAll(t *testing.T) {
	north, south := inst(1, in("NORTH")), inst(2, in("SOUTH"))
	for _, c := range []struct {
		name    string
		options loadbalance.Options
		list    []registry.Instance
		want    string
	}{
		{"same cluster", loadbalance.Options{Cluster: "NORTH", PreferSameCluster: true}, []registry.Instance{north, south}, "1"},
		{"none there", loadbalance.Options{Cluster: "EAST", PreferSameCluster: true}, []registry.Instance{north, south}, "12"},
		{
			"none usable there",
			loadbalance.Options{Cluster: "NORTH", PreferSameCluster: true},
			[]registry.Instance{inst(1, in("NORTH"), unhealthy), south},
			"2",
		},
		{"own cluster unknown", loadbalance.Options{PreferSameCluster: true}, []registry.Instance{north, south}, "12"},
		{"preference off", loadbalance.Options{Cluster: "NORTH"}, []registry.Instance{north, south}, "12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, keys(chosen(t, having(t, c.options, c.list...))))
		})
	}
}

func TestDR1_AnotherAttemptMayLeaveTheCluster(t *testing.T) {
	near, far := inst(1, in("NORTH")), inst(2, in("SOUTH"))
	l := having(t, loadbalance.Options{Cluster: "NORTH", PreferSameCluster: true}, near, inst(3, in("NORTH")), far)
	third := inst(3, in("NORTH"))
	require.Equal(t, "13", keys(chosen(t, l)))
	require.Equal(t, "3", keys(chosen(t, l, &near)))
	require.Equal(t, "2", keys(chosen(t, l, &near, &third)))
	require.Equal(t, "13", keys(chosen(t, l, &near, &third, &far)), "all were tried: the nearest will do")
}

func TestDR15_UnhealthyOnly(t *testing.T) {
	list := []registry.Instance{inst(1, unhealthy), inst(2, unhealthy), inst(3, disabled), inst(4, weightless, unhealthy)}
	_, err := having(t, loadbalance.Options{}, list...).Choose(t.Context(), orders)
	require.ErrorIs(t, err, loadbalance.ErrNoInstance)
	var none *loadbalance.NoInstanceError
	require.ErrorAs(t, err, &none)
	require.Equal(t, &loadbalance.NoInstanceError{Service: orders, Known: 4, Unhealthy: 2, Disabled: 1, Weightless: 1}, none)
	require.EqualError(t, err, `no instance available of service "orders" (namespace public, group DEFAULT_GROUP): `+
		`4 known, 2 unhealthy, 1 disabled, 1 without weight`)

	l := having(t, loadbalance.Options{UseUnhealthyWhenEmpty: true}, list...)
	require.Equal(t, "12", keys(chosen(t, l)))
	l = having(t, loadbalance.Options{UseUnhealthyWhenEmpty: true}, append(list, inst(5))...)
	require.Equal(t, "5", keys(chosen(t, l)))
	l = having(t, with(func(p *loadbalance.Properties) { p.UseUnhealthyWhenEmpty = true }), list...)
	require.Equal(t, "12", keys(chosen(t, l)))
}

func TestFilters_NarrowWhatIsUsableAndComeBeforeTheCluster(t *testing.T) {
	version := func(v string) func(*registry.Instance) {
		return func(i *registry.Instance) { i.Metadata = map[string]string{"version": v} }
	}
	options := func(v string) loadbalance.Options {
		return loadbalance.Options{
			Cluster: "NORTH", PreferSameCluster: true,
			Filters: []loadbalance.Filter{loadbalance.Where(func(i *registry.Instance) bool { return i.Metadata["version"] == v })},
		}
	}
	list := []registry.Instance{inst(1, version("1"), in("NORTH")), inst(2, version("2")), inst(3, version("2"), unhealthy)}
	require.Equal(t, "2", keys(chosen(t, having(t, options("2"), list...))))
	_, err := having(t, options("3"), list...).Choose(t.Context(), orders)
	require.ErrorContains(t, err, ": 3 known, 1 unhealthy, 2 left out by filters")
}

func TestNoInstance_NamesSimilarServicesOfTheGroup(t *testing.T) {
	s := memory.New()
	for _, name := range []string{"orders", "Orderz", "stock", "audit", "billing", "users", "search"} {
		s.Put(registry.NewInstance(registry.ServiceID{Name: name}, "192.0.2.1", 80))
	}
	l := balancer(t, s, loadbalance.Options{})
	_, err := l.Choose(t.Context(), registry.ServiceID{Name: "order"})
	var none *loadbalance.NoInstanceError
	require.ErrorAs(t, err, &none)
	require.Equal(t, []string{"Orderz", "orders"}, none.Similar[:2])
	require.Len(t, none.Similar, 5)
	require.Equal(t, 7, none.Services)
	require.ErrorContains(t, err, "none registered; of the 7 services there, the most similar are Orderz, orders,")

	_, err = l.Choose(t.Context(), registry.ServiceID{Group: "EMPTY", Name: "order"})
	require.EqualError(t, err, `no instance available of service "order" (namespace public, group EMPTY): none registered`)
}

func TestChoose_FirstErrorOfDiscoveryIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flakySource{Source: memory.New()}
		s.fail(errDown)
		l := balancer(t, s, loadbalance.Options{})
		_, err := l.Choose(t.Context(), orders)
		require.ErrorIs(t, err, loadbalance.ErrNoInstance)
		require.ErrorIs(t, err, errDown)
	})
}

func TestChoose_WaitsForTheFirstListWithinTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flakySource{Source: memory.New(), hung: true}
		l := balancer(t, s, loadbalance.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := l.Choose(ctx, orders)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, loadbalance.ErrNoInstance, "the caller left, that says nothing about the service")
		require.Equal(t, time.Second, time.Since(began))
	})
}

// There is no cache above discovery's: an instance that left is not picked
// after the next list, and an outage of the registry takes nothing away.
func TestCase19_PicksFollowTheListAndSurviveOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flakySource{Source: memory.New()}
		s.Set(orders, inst(1), inst(2))
		l := balancer(t, s, loadbalance.Options{})
		require.Equal(t, "12", keys(chosen(t, l)))

		s.Set(orders, inst(2))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, "2", keys(chosen(t, l)))

		s.fail(errDown)
		for range 20 {
			time.Sleep(30 * time.Second)
			require.Equal(t, "2", keys(chosen(t, l)))
		}
		s.fail(nil)
		s.Set(orders)
		time.Sleep(time.Minute)
		_, err := l.Choose(t.Context(), orders)
		require.ErrorIs(t, err, loadbalance.ErrNoInstance)
		s.fail(errDown)
		time.Sleep(time.Minute)
		_, err = l.Choose(t.Context(), orders)
		require.ErrorIs(t, err, errDown, "an old empty list is told with its cause")
		require.EqualError(t, err, `no instance available of service "orders" (namespace public, group DEFAULT_GROUP): `+
			`fetch from memory: the registry is down`)
	})
}

func TestDR6_PushedListCountsForTheNextChoice(t *testing.T) {
	s := memory.New()
	s.Set(orders, inst(1))
	l := balancer(t, s, loadbalance.Options{})
	for n := range 200 {
		s.Set(orders, inst(1+n%9))
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		require.Equal(t, inst(1+n%9).IP, r.Instance.IP)
	}
}

func TestDR6_ConfirmedListIsNotWorkedOutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flakySource{Source: memory.New()}
		s.Set(orders, inst(1), inst(2), inst(3))
		l := balancer(t, s, loadbalance.Options{Policy: loadbalance.RoundRobin(nil)})
		first, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		previous := first.Instance.IP[len("192.0.2.")] - '0'
		for range 30 {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			next, err := l.Choose(t.Context(), orders)
			require.NoError(t, err)
			// A new picker would begin at a random place.
			require.Equal(t, previous%3+1, next.Instance.IP[len("192.0.2.")]-'0')
			previous = previous%3 + 1
		}
	})
}

func TestCase16_ChoicesAndPushesDoNotRace(t *testing.T) {
	s := memory.New()
	s.Set(orders, inst(1), inst(2))
	l := balancer(t, s, loadbalance.Options{Cluster: "NORTH", PreferSameCluster: true})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := l.Choose(context.Background(), orders)
				if err != nil || r.Instance.Metadata["n"] == "never" {
					t.Errorf("choose: %v", err)
					return
				}
			}
		})
	}
	for n := range 2000 {
		s.Set(orders, inst(1), inst(2+n%7, in("NORTH"), func(i *registry.Instance) {
			i.Metadata = map[string]string{"n": fmt.Sprint(n)}
		}))
	}
	close(stop)
	wg.Wait()
}

func TestDR9_UnderscoreIsWarnedOfOnce(t *testing.T) {
	var log bytes.Buffer
	s := memory.New()
	id := registry.ServiceID{Name: "order_service"}
	l := balancer(t, s, loadbalance.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for n := range 5 {
		s.Set(id, inst(1+n))
		_, err := l.Choose(t.Context(), id)
		require.NoError(t, err)
	}
	s.Set(orders, inst(1))
	chosen(t, l)
	require.Equal(t, 1, strings.Count(log.String(), "underscore"))
}

func TestNoInstance_DoesNotAskTheRegistryEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &countingSource{Source: memory.New()}
		s.Put(registry.NewInstance(registry.ServiceID{Name: "orders"}, "192.0.2.1", 80))
		l := balancer(t, s, loadbalance.Options{})
		for range 100 {
			for _, name := range []string{"order", "ordres"} {
				_, err := l.Choose(t.Context(), registry.ServiceID{Name: name})
				require.ErrorContains(t, err, "orders")
			}
		}
		require.Equal(t, int64(1), s.asked.Load())
		time.Sleep(31 * time.Second)
		_, err := l.Choose(t.Context(), registry.ServiceID{Name: "order"})
		require.ErrorContains(t, err, "orders")
		require.Equal(t, int64(2), s.asked.Load())
	})
}

// countingSource counts the questions for names.
type countingSource struct {
	*memory.Source
	asked atomic.Int64
}

func (s *countingSource) Services(ctx context.Context, namespace, group string) ([]string, error) {
	s.asked.Add(1)
	return s.Source.Services(ctx, namespace, group)
}

func TestClose_RefusesFurtherChoices(t *testing.T) {
	l := having(t, loadbalance.Options{}, inst(1))
	chosen(t, l)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err := l.Choose(t.Context(), orders)
	require.ErrorIs(t, err, loadbalance.ErrClosed)
	require.ErrorIs(t, l.Do(t.Context(), orders, nil), loadbalance.ErrClosed)
}

func TestClose_OfDiscoveryShows(t *testing.T) {
	s := memory.New()
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{s}})
	require.NoError(t, err)
	l, err := loadbalance.New(loadbalance.Options{Discovery: c})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = l.Choose(t.Context(), orders)
	require.ErrorIs(t, err, discovery.ErrClosed)
	_, err = loadbalance.New(loadbalance.Options{})
	require.ErrorContains(t, err, "no discovery client")
}

func TestDR9_DoCallsOneInstanceAndReportsTheEndOnce(t *testing.T) {
	policy := &learning{}
	l := having(t, loadbalance.Options{Policy: policy}, inst(1), inst(2))
	mine := errors.New("mine")
	require.NoError(t, l.Do(t.Context(), orders, func(ctx context.Context, i *registry.Instance) error {
		require.Equal(t, t.Context(), ctx)
		require.Equal(t, inst(1).IP, i.IP)
		return nil
	}))
	require.ErrorIs(t, l.Do(t.Context(), orders, func(context.Context, *registry.Instance) error { return mine }), mine)
	require.Panics(t, func() {
		_ = l.Do(t.Context(), orders, func(context.Context, *registry.Instance) error { panic("f") })
	})
	policy.requireEnded(t, 3)
	require.NoError(t, policy.outcomes[0].Err)
	require.ErrorIs(t, policy.outcomes[1].Err, mine)
	require.ErrorContains(t, policy.outcomes[2].Err, "panicked")
	require.ErrorIs(t, l.Do(t.Context(), registry.ServiceID{Name: "nobody"}, nil), loadbalance.ErrNoInstance)
}

func TestDR14_ChooseAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop what it is given")
	}
	l := having(t, loadbalance.Options{}, inst(1), inst(2), inst(3))
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = l.Choose(ctx, orders) }))
}

func BenchmarkChoose(b *testing.B) {
	var list []registry.Instance
	for n := range 100 {
		list = append(list, registry.NewInstance(orders, "192.0.2.1", n+1))
	}
	for name, o := range map[string]loadbalance.Options{
		"plain":   {},
		"cluster": {Cluster: registry.DefaultCluster, PreferSameCluster: true},
	} {
		b.Run(name, func(b *testing.B) {
			l := having(b, o, list...)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := l.Choose(context.Background(), orders); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
