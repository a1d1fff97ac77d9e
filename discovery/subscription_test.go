package discovery_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

func TestCR15_CurrentListComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		first, _ := subscribe(t, c)
		require.Equal(t, []uint64{1}, first.revisions(), "even when the service was not known yet")
		s.push(orders, inst(1), inst(2))
		late, _ := subscribe(t, c)
		require.Equal(t, []uint64{2}, late.revisions())
		require.Equal(t, []uint64{1, 2}, first.revisions())
		require.Equal(t, 1, s.fetches(), "listeners share the list")
	})
}

func TestCR15_SlowListenerGetsTheLatestAndDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		slow := &events{}
		_, err := c.Subscribe(orders, func(s *discovery.Snapshot) {
			slow.listen(s)
			time.Sleep(time.Second)
		})
		require.NoError(t, err)
		quick, _ := subscribe(t, c)
		for n := range byte(8) {
			s.push(orders, inst(n))
			synctest.Wait()
		}
		require.Len(t, quick.all(), 9, "the current list and eight changes")
		after(5 * time.Second)
		require.Equal(t, []uint64{1, snapshot(t, c).Revision}, slow.revisions())
	})
}

func TestCR15_PanicOfAListenerIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		s := newFake(inst(1))
		c := newClient(t, discovery.Options{Sources: []discovery.Source{s}, Logger: log.logger()})
		calls := &events{}
		_, err := c.Subscribe(orders, func(s *discovery.Snapshot) {
			calls.listen(s)
			panic("mine")
		})
		require.NoError(t, err)
		other, _ := subscribe(t, c)
		s.push(orders, inst(2))
		synctest.Wait()
		require.Equal(t, []uint64{1, 2}, calls.revisions(), "it is called again")
		require.Equal(t, []uint64{1, 2}, other.revisions())
		require.Contains(t, log.String(), "panic=mine")
	})
}

func TestCR15_CloseFromTheListenerIsTheLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		calls := &events{}
		own := make(chan *discovery.Subscription, 1)
		sub, err := c.Subscribe(orders, func(s *discovery.Snapshot) {
			calls.listen(s)
			(<-own).Close()
		})
		require.NoError(t, err)
		own <- sub
		synctest.Wait()
		s.push(orders, inst(2))
		after(time.Minute)
		require.Equal(t, []uint64{1}, calls.revisions())
		sub.Close()
	})
}

func TestCR15_WhatWaitsIsNotDeliveredAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		for n := range 32 {
			calls := &events{}
			sub, err := c.Subscribe(orders, func(s *discovery.Snapshot) {
				calls.listen(s)
				time.Sleep(time.Second)
			})
			require.NoError(t, err)
			synctest.Wait()
			s.push(orders, inst(byte(2+n%2)))
			sub.Close()
			after(time.Minute)
			require.Len(t, calls.all(), 1)
		}
	})
}

func TestCase15_UnsubscribedIsNotPolledAndSubscribingAgainWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		_, warm := subscribe(t, c) // the poller itself is running now
		warm.Close()
		synctest.Wait()
		goroutines := deliveries()

		for range 3 {
			first, one := subscribe(t, c)
			second, two := subscribe(t, c)
			require.Len(t, first.all(), 1)
			require.Len(t, second.all(), 1)
			require.Equal(t, goroutines+2, deliveries())
			one.Close()
			before := s.fetches()
			after(time.Minute)
			require.Equal(t, before+6, s.fetches(), "one subscriber is left")
			two.Close()
			two.Close()
			before = s.fetches()
			after(time.Hour)
			require.Equal(t, before, s.fetches())
			require.Equal(t, goroutines, deliveries())
		}
	})
}

// deliveries counts the goroutines of subscriptions.
func deliveries() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "(*Subscription).deliver(")
}

func TestCase15_UnsubscribingLeavesAServiceThatIsAskedForFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := over(t, s)
		_, sub := subscribe(t, c)
		snapshot(t, c)
		sub.Close()
		before := s.fetches()
		after(time.Minute)
		require.Equal(t, before+6, s.fetches())
	})
}

func TestCase15_UnsubscribingWhileTheFirstFetchIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake()
		s.respond(func(_ context.Context, id registry.ServiceID) (discovery.Listing, error) {
			time.Sleep(time.Second)
			return discovery.Listing{Service: id, Instances: []registry.Instance{inst(1)}}, nil
		})
		c := over(t, s)
		e, sub := subscribe(t, c)
		sub.Close()
		after(time.Hour)
		require.Equal(t, 1, s.fetches())
		require.Empty(t, e.all())
	})
}

func TestSubscribe_RefusesWhatCannotWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := over(t, newFake())
		_, err := c.Subscribe(registry.ServiceID{}, func(*discovery.Snapshot) {})
		require.ErrorContains(t, err, "no name")
		_, err = c.Subscribe(orders, nil)
		require.ErrorContains(t, err, "no listener")
		_, err = c.Snapshot(t.Context(), registry.ServiceID{Group: "G"})
		require.ErrorContains(t, err, "no name")
	})
}
