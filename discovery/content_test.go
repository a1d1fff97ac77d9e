package discovery_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

func TestCR12_ChangeIsWhateverMattersToACaller(t *testing.T) {
	with := func(edit func(*registry.Instance)) []registry.Instance {
		return []registry.Instance{inst(1, edit), inst(2)}
	}
	for _, c := range []struct {
		name    string
		list    []registry.Instance
		changed bool
	}{
		{"nothing", []registry.Instance{inst(1), inst(2)}, false},
		{"order", []registry.Instance{inst(2), inst(1)}, false},
		{"the same twice", []registry.Instance{inst(1), inst(2), inst(1)}, false},
		{"cluster spelled out", with(func(i *registry.Instance) { i.Cluster = "" }), false},
		{"empty metadata", with(func(i *registry.Instance) { i.Metadata = map[string]string{} }), false},
		{"the registry's id", with(func(i *registry.Instance) { i.ID = "other" }), false},
		{"ip", with(func(i *registry.Instance) { i.IP = "192.0.2.9" }), true},
		{"port", with(func(i *registry.Instance) { i.Port = 1 }), true},
		{"cluster", with(func(i *registry.Instance) { i.Cluster = "NORTH" }), true},
		{"weight", with(func(i *registry.Instance) { i.Weight = 1.5 }), true},
		{"healthy", with(func(i *registry.Instance) { i.Healthy = false }), true},
		{"enabled", with(func(i *registry.Instance) { i.Enabled = false }), true},
		{"metadata", with(func(i *registry.Instance) { i.Metadata = map[string]string{"a": "b"} }), true},
		{"one more", []registry.Instance{inst(1), inst(2), inst(3)}, true},
		{"one less", []registry.Instance{inst(1)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(inst(1), inst(2))
				client := over(t, s)
				e, _ := subscribe(t, client)
				s.set(c.list...)
				after(time.Minute)
				want := []uint64{1}
				if c.changed {
					want = []uint64{1, 2}
				}
				require.Equal(t, want, e.revisions())
			})
		})
	}
}

func TestCR12_WeightThatIsNoNumberIsNoPerpetualChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1, func(i *registry.Instance) { i.Weight = math.NaN() }))
		c := over(t, s)
		e, _ := subscribe(t, c)
		after(time.Minute)
		require.Equal(t, []uint64{1}, e.revisions())
	})
}

// Two servers with different clocks and the same registrations answer in turn,
// each in its own order; now and then the registrations change.
func TestCase13_EachChangeOfContentIsOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake()
		var turn, weight atomic.Int64
		weight.Store(1)
		s.respond(func(_ context.Context, id registry.ServiceID) (discovery.Listing, error) {
			list := []registry.Instance{inst(1), inst(2, func(i *registry.Instance) { i.Weight = float64(weight.Load()) })}
			l := discovery.Listing{Service: id, Instances: list, CacheFor: 3 * time.Second}
			if turn.Add(1)%2 == 0 {
				slices.Reverse(l.Instances)
				l.CacheFor = 2 * time.Second
			}
			return l, nil
		})
		c := over(t, s)
		e, _ := subscribe(t, c)
		for n := range 10 {
			after(20 * time.Second)
			require.Len(t, e.all(), n+1)
			weight.Add(1)
		}
	})
}

func TestCR13_SnapshotsAreSortedAndNeverChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(3), inst(1), inst(2, func(i *registry.Instance) { i.Cluster = "A" }))
		c := over(t, s)
		first := snapshot(t, c)
		addresses := func(s *discovery.Snapshot) (all []string) {
			for _, i := range s.Instances {
				all = append(all, i.Cluster+" "+i.Address())
				require.Equal(t, orders, i.Service)
			}
			return all
		}
		want := []string{"A 192.0.2.2:8080", "DEFAULT 192.0.2.1:8080", "DEFAULT 192.0.2.3:8080"}
		require.Equal(t, want, addresses(first))
		s.push(orders, inst(4))
		require.Equal(t, want, addresses(first))
		require.Equal(t, uint64(2), snapshot(t, c).Revision)
	})
}

// With the race detector: readers iterate and look into metadata while lists
// are pushed and polled.
func TestCase16_ReadersAndPushesDoNotRace(t *testing.T) {
	s := newFake(inst(1), inst(2))
	c := newClient(t, discovery.Options{Sources: []discovery.Source{s}})
	_, err := c.Subscribe(orders, func(s *discovery.Snapshot) { readAll(s) })
	require.NoError(t, err)
	snapshot(t, c)

	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if s, err := c.Snapshot(context.Background(), orders); err != nil || readAll(s) == 0 {
					t.Errorf("reading: %v, %v", s, err)
					return
				}
			}
		})
	}
	for n := range 3000 {
		metadata := map[string]string{"n": string(rune('a' + n%26))}
		list := []registry.Instance{inst(3), inst(2), inst(1, func(i *registry.Instance) { i.Metadata = metadata })}
		s.push(orders, list...)
		metadata["n"] = "the source's own map changes"
	}
	close(stop)
	readers.Wait()
	require.Greater(t, snapshot(t, c).Revision, uint64(1000))
}

func readAll(s *discovery.Snapshot) (n int) {
	for _, i := range s.Instances {
		n += len(i.IP) + len(i.Metadata["n"])
	}
	return n
}
