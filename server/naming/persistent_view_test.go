package naming

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestSB08_PersistentInstancesAreNoneOfTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("mixed")
		for port := range 20 {
			require.NoError(t, s.Register(k, shortLived(port)))
		}
		for port := range 80 {
			apply(t, s, k, registration("192.0.2.2", port))
		}
		time.Sleep(6500 * time.Millisecond)
		require.Equal(t, 90, lookup(t, s, k).Len(), "half of the 20 that can fall silent")
	})
}

func TestPersistent_OrderAndClusters(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("order")
	in := func(cluster string, port int) Registration {
		r := registration("192.0.2.1", port)
		r.Cluster = cluster
		return r
	}
	for port := range 300 { // several blocks of each
		if port%3 != 0 {
			require.NoError(t, s.Register(k, in("B", port)))
		}
		if port%2 == 0 {
			apply(t, s, k, in("B", port))
		}
	}
	apply(t, s, k, in("A", 1))
	require.NoError(t, s.Register(k, in("C", 1)))
	require.NoError(t, s.ApplyCluster(k, "D", DefaultClusterInfo()))
	r := lookup(t, s, k)
	require.Equal(t, []string{"A", "B", "C", "D"}, r.Clusters())
	all := slices.Collect(r.All())
	require.Len(t, all, r.Len())
	require.True(t, slices.IsSortedFunc(all, func(a, b *Instance) int {
		if c := a.Compare(b.InstanceKey); c != 0 || a.Ephemeral == b.Ephemeral {
			return c
		}
		if b.Ephemeral {
			return -1
		}
		return 1
	}))
	require.Len(t, slices.Collect(r.Cluster("B")), 350)
	require.Empty(t, slices.Collect(r.Cluster("D")))
	hosts, _ := r.Select(Query{Clusters: "C,A"})
	require.Equal(t, []bool{false, true}, []bool{hosts[0].Ephemeral, hosts[1].Ephemeral})
	for range r.All() {
		break // walking can be stopped
	}
}

func TestChecksum_OfPersistentInstances(t *testing.T) {
	s := newStore(t, Options{})
	k, other, r := serviceKey("sum"), serviceKey("other"), registration("192.0.2.1", 1)
	require.NoError(t, s.Register(k, r))
	before := lookup(t, s, k).Checksum()
	require.NoError(t, s.Deregister(k, r.InstanceKey))
	apply(t, s, k, r)
	require.NotEqual(t, before, lookup(t, s, k).Checksum(), "the kind shows in a list")
	apply(t, s, other, r)
	require.NotEqual(t, lookup(t, s, other).Checksum(), lookup(t, s, k).Checksum())
}

func TestMetrics_ByKind(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := newStore(t, Options{Registerer: registry})
	k := serviceKey("kinds")
	apply(t, s, k, unhealthy(registration("192.0.2.1", 1)))
	apply(t, s, k, registration("192.0.2.1", 2))
	require.NoError(t, s.Register(k, registration("192.0.2.1", 3)))
	got := gathered(t, registry)
	maps.DeleteFunc(got, func(name string, _ float64) bool { return !strings.HasPrefix(name, "instances") })
	require.Equal(t, map[string]float64{
		"instances healthy=true kind=ephemeral": 1, "instances healthy=false kind=ephemeral": 0,
		"instances healthy=true kind=persistent": 1, "instances healthy=false kind=persistent": 1,
	}, got)
}

func TestEmptyServices_WithPersistentInstancesAreNotEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{SweepDelay: time.Second, SweepPeriod: time.Second})
		k, r := serviceKey("full"), registration("192.0.2.1", 1)
		apply(t, s, k, r)
		time.Sleep(time.Minute)
		require.Equal(t, 1, lookup(t, s, k).Len())
		require.NoError(t, s.RemovePersistent(k, r.InstanceKey))
		time.Sleep(7 * time.Second)
		_, ok := s.Lookup(k)
		require.False(t, ok)
	})
}

func TestEmptyServices_TheExplicitAreDiscardedByTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var asked []string
		s := newStore(t, Options{SweepDelay: time.Second, SweepPeriod: time.Second, Discard: func(k wire.ServiceKey) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, k.Name)
		}})
		explicit, busy, implicit := serviceKey("explicit"), serviceKey("busy"), serviceKey("implicit")
		require.NoError(t, s.ApplyService(explicit, ServiceInfo{}))
		require.NoError(t, s.ApplyService(busy, ServiceInfo{}))
		require.NoError(t, s.Register(implicit, shortLived(1)))
		require.NoError(t, s.Deregister(implicit, at("192.0.2.1", 1)))
		time.Sleep(20 * time.Second)
		_, ok := s.Lookup(implicit)
		require.False(t, ok, "what the state does not hold is removed here")
		mu.Lock()
		require.Subset(t, asked, []string{"explicit", "busy"})
		require.Greater(t, len(asked), 2, "asked again while nothing comes of it")
		require.NotContains(t, asked, "implicit")
		mu.Unlock()

		require.NoError(t, s.Register(busy, registration("192.0.2.1", 1)))
		for _, k := range []wire.ServiceKey{explicit, busy, serviceKey("unknown")} {
			require.NoError(t, s.ReleaseService(k))
		}
		_, ok = s.Lookup(explicit)
		require.False(t, ok)
		r := lookup(t, s, busy)
		require.Equal(t, 1, r.Len(), "it was registered into meanwhile")
		require.Equal(t, ServiceInfo{}, r.Service())
	})
}

// TestEmptyServices_WhatSomebodyConfiguredStays: nobody brings settings back.
func TestEmptyServices_WhatSomebodyConfiguredStays(t *testing.T) {
	for name, options := range map[string]Options{
		"held by the state": {Discard: func(k wire.ServiceKey) { t.Errorf("%s is to be removed", k) }},
		"by the store":      {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options.SweepDelay, options.SweepPeriod = time.Second, time.Second
				s := newStore(t, options)
				configured := map[string]ServiceInfo{
					"metadata":  {Metadata: map[string]string{"owner": "pay"}},
					"threshold": {ProtectThreshold: 0.5},
					"selector":  {Selector: Selector{Type: SelectorLabel, Expression: "CONSUMER.label.a = PROVIDER.label.a"}},
				}
				for name, info := range configured {
					require.NoError(t, s.ApplyService(serviceKey(name), info))
				}
				require.NoError(t, s.ApplyCluster(serviceKey("cluster"), "DEFAULT", DefaultClusterInfo()))
				require.NoError(t, s.Register(serviceKey("metadata"), shortLived(1)))
				time.Sleep(time.Minute)
				for name, info := range configured {
					info.Explicit = true
					require.Equal(t, info, lookup(t, s, serviceKey(name)).Service())
				}
				require.Zero(t, lookup(t, s, serviceKey("cluster")).Len())
			})
		})
	}
}

func TestCase08_ReleasingAServiceKeepsItsTombstones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k, r := serviceKey("released"), registration("192.0.2.1", 1)
		require.NoError(t, s.ApplyService(k, ServiceInfo{}))
		require.NoError(t, s.Register(k, r))
		require.NoError(t, s.Deregister(k, r.InstanceKey))
		require.NoError(t, s.ReleaseService(k))
		result, err := s.Beat(k, r.InstanceKey, &wire.Beat{Weight: 1})
		require.NoError(t, err)
		require.False(t, result.Known)
		_, ok := s.Lookup(k)
		require.False(t, ok)
	})
}
