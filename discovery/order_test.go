package discovery_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// two returns a client over a first and a second source.
func two(t *testing.T) (first, second *fakeSource, c *discovery.Client) {
	t.Helper()
	first, second = newFake(), newFake()
	first.name, second.name = "first", "second"
	return first, second, over(t, first, second)
}

func addresses(s *discovery.Snapshot) (all []string) {
	for _, i := range s.Instances {
		all = append(all, i.IP)
	}
	return all
}

func TestComposite_FirstNonEmptyAnswerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, c := two(t)
		second.set(inst(2))
		require.Equal(t, []string{inst(2).IP}, addresses(snapshot(t, c)))
		first.set(inst(1))
		after(10 * time.Second)
		require.Equal(t, []string{inst(1).IP}, addresses(snapshot(t, c)))
		first.set()
		after(10 * time.Second)
		require.Equal(t, []string{inst(2).IP}, addresses(snapshot(t, c)), "a service that left the first may be in the second")
		second.set()
		after(10 * time.Second)
		require.Empty(t, snapshot(t, c).Instances)
	})
}

func TestComposite_OutageOfTheFirst(t *testing.T) {
	t.Run("lets the second answer while there is no list", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second, c := two(t)
			first.fail(errDown)
			second.set(inst(2))
			require.Equal(t, []string{inst(2).IP}, addresses(snapshot(t, c)))
		})
	})
	t.Run("that hangs leaves the second its time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second, c := two(t)
			first.hang()
			second.respond(func(ctx context.Context, id registry.ServiceID) (discovery.Listing, error) {
				return discovery.Listing{Service: id, Instances: []registry.Instance{inst(2)}}, ctx.Err()
			})
			require.Equal(t, []string{inst(2).IP}, addresses(snapshot(t, c)))
		})
	})
	t.Run("keeps the first's list", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second, c := two(t)
			first.set(inst(1))
			second.set(inst(2))
			snapshot(t, c)
			first.fail(errDown)
			after(time.Minute)
			require.Equal(t, []string{inst(1).IP}, addresses(snapshot(t, c)))
			require.True(t, snapshot(t, c).Stale())
		})
	})
	t.Run("is not taken for an empty service", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, _, c := two(t)
			first.fail(errDown)
			_, err := c.Snapshot(t.Context(), orders)
			require.ErrorIs(t, err, errDown)
		})
	})
	t.Run("of both is an error that tells of both", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second, c := two(t)
			first.fail(errDown)
			second.fail(context.DeadlineExceeded)
			_, err := c.Snapshot(t.Context(), orders)
			require.ErrorIs(t, err, errDown)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	})
}

func TestComposite_PushesFollowTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, c := two(t)
		first.set(inst(1))
		second.set(inst(2))
		snapshot(t, c)

		second.set(inst(3))
		second.push(orders, inst(3))
		after(time.Millisecond)
		require.Equal(t, []string{inst(1).IP}, addresses(snapshot(t, c)), "the first has precedence")

		first.push(orders, inst(4))
		require.Equal(t, []string{inst(4).IP}, addresses(snapshot(t, c)))

		first.set()
		first.push(orders)
		after(time.Millisecond)
		require.Equal(t, []string{inst(3).IP}, addresses(snapshot(t, c)), "emptied in the first: the second is asked at once")
	})
}

func TestComposite_PushDuringAFetchHasItRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, c := two(t)
		first.respond(func(_ context.Context, id registry.ServiceID) (discovery.Listing, error) {
			time.Sleep(time.Second)
			return discovery.Listing{Service: id}, nil
		})
		second.respond(func(_ context.Context, id registry.ServiceID) (discovery.Listing, error) {
			l := discovery.Listing{Service: id, Instances: []registry.Instance{inst(2)}}
			time.Sleep(time.Second) // what it answers is old by now
			return l, nil
		})
		subscribe(t, c)
		after(1500 * time.Millisecond)
		second.set(inst(3))
		second.push(orders, inst(3))
		after(1600 * time.Millisecond)
		require.Equal(t, []string{inst(3).IP}, addresses(snapshot(t, c)))
	})
}

func TestComposite_ServicesAreTheUnion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, c := two(t)
		first.set(inst(1))
		second.set(inst(1), inst(2, func(i *registry.Instance) { i.Service.Name = "audit" }))
		names, err := c.Services(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"audit", "orders"}, names)
		first.fail(errDown)
		names, err = c.Services(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"audit", "orders"}, names)
		names, err = c.ServicesIn(t.Context(), "", "OTHER")
		require.NoError(t, err)
		require.Empty(t, names)
		second.fail(errDown)
		_, err = c.Services(t.Context())
		require.ErrorIs(t, err, errDown)
	})
}

func TestPush_OvertakesTheFetchUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		e, _ := subscribe(t, c)
		s.respond(func(_ context.Context, id registry.ServiceID) (discovery.Listing, error) {
			time.Sleep(time.Second)
			return discovery.Listing{Service: id, Instances: []registry.Instance{inst(1)}, CacheFor: 10 * time.Second}, nil
		})
		after(10*time.Second + time.Millisecond)
		s.push(orders, inst(2))
		after(time.Second)
		require.Equal(t, []string{inst(2).IP}, addresses(snapshot(t, c)), "the answer is older than the push")
		require.Equal(t, []uint64{1, 2}, e.revisions())
		after(11 * time.Second)
		require.Equal(t, []string{inst(1).IP}, addresses(snapshot(t, c)), "the next answer counts again")
	})
}

func TestPush_SavesTheNextPollAndEndsStaleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		subscribe(t, c)
		after(9 * time.Second)
		s.push(orders, inst(2))
		after(9 * time.Second)
		require.Equal(t, 1, s.fetches())
		s.fail(errDown)
		after(time.Second)
		require.True(t, snapshot(t, c).Stale())
		s.push(orders, inst(2))
		require.False(t, snapshot(t, c).Stale())
	})
}

func TestPush_OfAServiceNobodyAskedForIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		s.push(orders, inst(2))
		after(time.Hour)
		require.Zero(t, s.fetches())
		require.Equal(t, []string{inst(1).IP}, addresses(snapshot(t, c)))
	})
}

func TestID_CompletesNames(t *testing.T) {
	c := newClient(t, discovery.Options{Sources: []discovery.Source{newFake()}, Namespace: "dev", Group: "G"})
	for name, want := range map[string]registry.ServiceID{
		"orders":       {Namespace: "dev", Group: "G", Name: "orders"},
		"OTHER@@order": {Namespace: "dev", Group: "OTHER", Name: "order"},
		"@@orders":     {Namespace: "dev", Group: "G", Name: "orders"},
	} {
		require.Equal(t, want, c.ID(name))
	}
	require.Equal(t, orders, over(t, newFake()).ID("orders"))
}
