package naming

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestService_CreateUpdateDelete(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("svc")
	err := s.CheckUpdateService(k, ServiceInfo{})
	require.ErrorIs(t, err, ErrServiceNotFound)
	requireBadRequest(t, err, "service DEFAULT_GROUP@@svc not found!")
	err = s.CheckDeleteService(k)
	require.ErrorIs(t, err, ErrServiceNotFound)
	requireBadRequest(t, err, "specified service not exist, serviceName : DEFAULT_GROUP@@svc")

	want := ServiceInfo{ProtectThreshold: 0.8, Metadata: map[string]string{"a": "b"}}
	require.NoError(t, s.CheckCreateService(k, want))
	require.NoError(t, s.ApplyService(k, want))
	err = s.CheckCreateService(k, ServiceInfo{})
	require.ErrorIs(t, err, ErrServiceExists)
	requireBadRequest(t, err, "specified service already exists, serviceName : DEFAULT_GROUP@@svc")
	info := lookup(t, s, k).Service()
	require.Equal(t, 0.8, info.ProtectThreshold)
	require.True(t, info.Explicit)

	require.NoError(t, s.CheckUpdateService(k, ServiceInfo{}))
	require.NoError(t, s.ApplyService(k, ServiceInfo{ProtectThreshold: 0.5}))
	info = lookup(t, s, k).Service()
	require.Empty(t, info.Metadata, "what an update leaves out is emptied")
	require.True(t, info.Explicit)
	for _, refuses := range []func(wire.ServiceKey, ServiceInfo) error{
		s.CheckUpdateService, s.CheckCreateService, s.ApplyService,
	} {
		requireBadRequest(t, refuses(k, ServiceInfo{ProtectThreshold: math.NaN()}), "protectThreshold")
	}
	requireBadRequest(t, s.CheckCreateService(serviceKey("a b"), ServiceInfo{}), "dom name can only have")
	requireBadRequest(t, s.ApplyService(serviceKey("a b"), ServiceInfo{}), "dom name can only have")

	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	number := lookup(t, s, k).Number()
	require.NoError(t, s.CheckDeleteService(k), "instances are no obstacle")
	require.NoError(t, s.RemoveService(k))
	require.NoError(t, s.RemoveService(k), "it is removed already")
	_, ok := s.Lookup(k)
	require.False(t, ok)
	require.Equal(t, Stats{}, s.Stats())

	_, err = s.Beat(k, at("192.0.2.1", 1), &wire.Beat{Weight: 1})
	require.NoError(t, err)
	require.Greater(t, lookup(t, s, k).Number(), number)
	require.False(t, lookup(t, s, k).Service().Explicit)
	require.ErrorIs(t, s.CheckCreateService(k, ServiceInfo{}), ErrServiceExists, "however it came to be")
}

func TestSB10_ServicesAreSortedByGroupedName(t *testing.T) {
	s := newStore(t, Options{})
	var want []string
	// A name may begin with each of the characters it may have, those before "@" too.
	for _, group := range []string{"a", "a-b", "a@b", "B", "ab", "aZ", "DEFAULT_GROUP", "0", "9.x", "-", ".a", ":a", "@a", "_a"} {
		for _, name := range []string{"x", "y-1", "y"} {
			k := wire.ServiceKey{Namespace: "ns", ServiceName: wire.ServiceName{Group: group, Name: name}}
			require.NoError(t, s.ApplyService(k, ServiceInfo{}))
			k.Namespace = "other"
			require.NoError(t, s.ApplyService(k, ServiceInfo{}))
			want = append(want, k.ServiceName.String())
		}
	}
	slices.Sort(want)
	var got []string
	for _, r := range s.Services("ns") {
		got = append(got, r.GroupedName())
	}
	require.Equal(t, want, got)
	require.Equal(t, []string{"ns", "other"}, s.Namespaces())
	require.Empty(t, s.Services("unknown"))
	require.Equal(t, 2*len(want), s.Stats().Services)
}

func TestCompareServices_IsTheOrderOfTheJoinedName(t *testing.T) {
	part := rapid.StringMatching(`[a-bA@_.-]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		a, errA := wire.ParseServiceName(part.Draw(t, "name"), part.Draw(t, "group"))
		b, errB := wire.ParseServiceName(part.Draw(t, "name"), part.Draw(t, "group"))
		if errA != nil || errB != nil {
			t.Skip("not a service name")
		}
		got := compareServices(wire.ServiceKey{ServiceName: a}, wire.ServiceKey{ServiceName: b})
		if want := strings.Compare(a.String(), b.String()); got != want {
			t.Fatalf("%s and %s: %d, want %d", a, b, got, want)
		}
	})
}

func TestEmptyServices_TheFifthLookRemoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k, full := serviceKey("empty"), serviceKey("full")
		var mu sync.Mutex
		var changed []string
		require.NoError(t, s.ApplyService(k, ServiceInfo{}))
		require.NoError(t, s.Register(full, registration("192.0.2.1", 1)))
		s.OnChange(func(k wire.ServiceKey) { mu.Lock(); defer mu.Unlock(); changed = append(changed, k.Name) })
		live := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Second) {
				_, err := s.Beat(full, at("192.0.2.1", 1), nil)
				require.NoError(t, err)
			}
		}
		live(165 * time.Second)
		require.True(t, lookup(t, s, k).Service().Explicit)
		live(10 * time.Second)
		_, ok := s.Lookup(k)
		require.False(t, ok)
		_, ok = s.entry(k)
		require.False(t, ok, "nothing of it is left")
		require.Equal(t, 1, lookup(t, s, full).Len())
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, []string{"empty"}, changed)
	})
}

func TestEmptyServices_AnInstanceResetsTheCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{SweepDelay: time.Second, SweepPeriod: time.Second})
		k := serviceKey("busy")
		for port := range 5 {
			require.NoError(t, s.Register(k, shortLived(port)))
			time.Sleep(9 * time.Second) // of which 3 are empty
		}
		lookup(t, s, k)
		time.Sleep(4 * time.Second)
		_, ok := s.Lookup(k)
		require.False(t, ok)
	})
}

func TestEmptyServices_CanBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{KeepEmpty: true})
		k := serviceKey("kept")
		require.NoError(t, s.ApplyService(k, ServiceInfo{}))
		time.Sleep(time.Hour)
		lookup(t, s, k)
	})
}

func TestEmptyServices_RacingWithRegistrations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{SweepDelay: time.Second, SweepPeriod: leaseTick})
		var wg sync.WaitGroup
		for worker := range 8 {
			k := serviceKey(fmt.Sprintf("s%d", worker))
			wg.Go(func() {
				for round := range 200 {
					if err := s.Register(k, registration("192.0.2.1", worker)); err != nil {
						t.Error(err)
					}
					if r, ok := s.Lookup(k); !ok || !has(r, at("192.0.2.1", worker)) {
						t.Error("a registration got lost")
					}
					if err := s.RemoveService(k); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(round%3) * leaseTick) // when the sweeper is at work too
				}
			})
		}
		wg.Wait()
		for range 60 {
			time.Sleep(time.Second)
			s.Namespaces()
		}
		require.Equal(t, Stats{}, s.Stats())
		require.Zero(t, s.index.Load().size)
	})
}

func TestClose_IsIdempotentAndLeavesTheState(t *testing.T) {
	s := New(Options{})
	k := serviceKey("closed")
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Equal(t, []int{1}, ports(s, k))
	require.NoError(t, s.Deregister(k, at("192.0.2.1", 1)))
}
