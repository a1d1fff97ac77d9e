package discovery_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

func TestCase19_FailureTolerance(t *testing.T) {
	for name, tc := range map[string]struct {
		tolerance discovery.FailureTolerance
		// served is whether a caller gets the list after a minute, and after ten, of
		// an outage.
		minute, ten bool
	}{
		"without limit": {discovery.FailureTolerance{}, true, true},
		"of five minutes": {
			discovery.FailureTolerance{MaxAge: 5 * time.Minute}, true, false,
		},
		"off": {discovery.FailureTolerance{Disabled: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(inst(1))
				c := newClient(t, discovery.Options{Sources: []discovery.Source{s}, FailureTolerance: tc.tolerance})
				e, _ := subscribe(t, c)
				check := func(served bool) {
					t.Helper()
					got, err := c.Snapshot(t.Context(), orders)
					if !served {
						require.ErrorIs(t, err, errDown)
						require.ErrorContains(t, err, "the last list")
						return
					}
					require.NoError(t, err)
					require.Len(t, got.Instances, 1)
				}
				s.fail(errDown)
				after(time.Minute)
				check(tc.minute)
				after(9 * time.Minute)
				check(tc.ten)
				s.set(inst(1))
				after(time.Minute)
				check(true)
				require.Len(t, e.all(), 1, "an outage is no change")
			})
		})
	}
}

// The matrix of the protection: what callers and listeners see of an empty answer
// after a restart of the registry, of the last instance leaving, and of an answer
// without a list at all, which a source reports as an error.
func TestCase12_CR14_EmptyProtection(t *testing.T) {
	for name, tc := range map[string]struct {
		protection discovery.EmptyProtection
		// happens is what the source does from now on.
		happens func(*fakeSource)
		// list, stale and told are what is seen a minute later.
		list  int
		stale error
		told  int
	}{
		"off, empty answers":         {discovery.EmptyProtection{}, func(s *fakeSource) { s.set() }, 0, nil, 2},
		"off, the last one leaves":   {discovery.EmptyProtection{}, func(s *fakeSource) { s.set(); s.push(orders) }, 0, nil, 2},
		"off, no list in the answer": {discovery.EmptyProtection{}, func(s *fakeSource) { s.fail(errDown) }, 1, errDown, 1},
		"on, empty answers":          {discovery.EmptyProtection{Enabled: true}, func(s *fakeSource) { s.set() }, 1, discovery.ErrProtected, 1},
		"on, the last one leaves":    {discovery.EmptyProtection{Enabled: true}, func(s *fakeSource) { s.set(); s.push(orders) }, 1, discovery.ErrProtected, 1},
		"on, no list in the answer":  {discovery.EmptyProtection{Enabled: true}, func(s *fakeSource) { s.fail(errDown) }, 1, errDown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := prometheus.NewRegistry()
				s := newFake(inst(1))
				c := newClient(t, discovery.Options{Sources: []discovery.Source{s}, EmptyProtection: tc.protection, Registerer: r})
				e, _ := subscribe(t, c)
				tc.happens(s)
				after(time.Minute)
				got := snapshot(t, c)
				require.Len(t, got.Instances, tc.list)
				require.Equal(t, tc.stale != nil, got.Stale())
				require.ErrorIs(t, got.Err, tc.stale)
				require.Len(t, e.all(), tc.told)
				require.Equal(t, errors.Is(tc.stale, discovery.ErrProtected), got.Protected())
				requireGauge(t, r, "rollcall_discovery_protected_services", got.Protected())
				requireGauge(t, r, "rollcall_discovery_stale_services", got.Stale())

				s.set(inst(1))
				after(time.Minute)
				require.False(t, snapshot(t, c).Stale())
				require.Len(t, snapshot(t, c).Instances, 1)
			})
		})
	}
}

func requireGauge(t *testing.T, r *prometheus.Registry, name string, is bool) {
	t.Helper()
	want := 0.0
	if is {
		want = 1
	}
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			require.InDelta(t, want, f.GetMetric()[0].GetGauge().GetValue(), 0, name)
			return
		}
	}
	t.Fatalf("no metric %s", name)
}

func TestCR14_ProtectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		s := newFake(inst(1))
		c := newClient(t, discovery.Options{
			Sources: []discovery.Source{s}, Logger: log.logger(), RefreshInterval: time.Minute,
			EmptyProtection: discovery.EmptyProtection{Enabled: true, TTL: 90 * time.Second},
			// A protected list is not that of a failing source.
			FailureTolerance: discovery.FailureTolerance{Disabled: true},
		})
		e, _ := subscribe(t, c)
		s.set()
		after(time.Minute)
		began := time.Now()
		require.Equal(t, began, snapshot(t, c).StaleSince)
		after(89 * time.Second)
		require.Len(t, snapshot(t, c).Instances, 1)
		after(time.Second)
		require.Empty(t, snapshot(t, c).Instances, "to the second, whatever the pace of the polls")
		require.False(t, snapshot(t, c).Stale())
		require.Equal(t, []uint64{1, 2}, e.revisions(), "and it is told")
		require.Contains(t, log.String(), "has no instance any more")

		// The next list begins a new time of protection.
		s.set(inst(2))
		after(time.Minute)
		s.set()
		after(time.Minute)
		require.True(t, snapshot(t, c).Protected())
		s.fail(errDown)
		after(time.Minute)
		_, err := c.Snapshot(t.Context(), orders)
		require.ErrorIs(t, err, errDown, "an outage is not covered by it")
	})
}

func TestUnknownNamesAreKeptWarmUpToABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake()
		c := newClient(t, discovery.Options{Sources: []discovery.Source{s}, MaxUnknown: 10})
		ask := func(name string) {
			_, err := c.Snapshot(t.Context(), registry.ServiceID{Name: name})
			require.NoError(t, err)
		}
		for n := range 100 {
			ask("made-up-" + string(rune('a'+n)))
		}
		require.Len(t, c.State().Services, 10)
		require.Equal(t, 100, s.fetches())
		ask("made-up-" + string(rune('a'+99)))
		require.Equal(t, 101, s.fetches(), "one that is not kept is asked for again")

		subscribe(t, c)
		require.Len(t, c.State().Services, 11, "a subscriber is no maker of names")
		s.respond(func(_ context.Context, id registry.ServiceID) (discovery.Listing, error) {
			return discovery.Listing{Service: id, Instances: []registry.Instance{inst(1)}}, nil
		})
		ask("real")
		require.Len(t, c.State().Services, 12, "nor is a service with instances one")
		after(15 * time.Minute)
		require.Len(t, c.State().Services, 1)
		s.set()
		for n := range 20 {
			ask("later-" + string(rune('a'+n)))
		}
		require.Len(t, c.State().Services, 11, "what was forgotten makes room")
	})
}

func TestMetrics_AreGoneAfterClose(t *testing.T) {
	r := prometheus.NewRegistry()
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{newFake()}, Registerer: r})
	require.NoError(t, err)
	_, err = discovery.New(discovery.Options{Sources: []discovery.Source{newFake()}, Registerer: r})
	require.Error(t, err)
	require.NoError(t, c.Close())
	n, err := testutil.GatherAndCount(r)
	require.NoError(t, err)
	require.Zero(t, n)
}
