package naming

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestRestoreDurable_IsExactlyWhatTheStateHolds(t *testing.T) {
	s := newStore(t, Options{})
	stays, goes, mixed, implicit := serviceKey("stays"), serviceKey("goes"), serviceKey("mixed"), serviceKey("implicit")
	r := registration("192.0.2.1", 1)
	apply(t, s, stays, r)
	apply(t, s, stays, registration("192.0.2.1", 2))
	require.True(t, s.SetPersistentHealth(stays, r.InstanceKey, false))
	require.NoError(t, s.ApplyCluster(stays, "OLD", DefaultClusterInfo()))
	apply(t, s, goes, r)
	require.NoError(t, s.ApplyService(goes, ServiceInfo{}))
	require.NoError(t, s.ApplyService(mixed, ServiceInfo{ProtectThreshold: 1}))
	require.NoError(t, s.Register(mixed, r))
	require.NoError(t, s.Register(implicit, r))

	checker, err := ParseHealthChecker(`{"type":"HTTP","path":"/ok"}`)
	require.NoError(t, err)
	cluster := ClusterInfo{Checker: checker, CheckPort: 8080, Metadata: map[string]string{"zone": "a"}}
	state := map[wire.ServiceKey]Durable{
		stays: {
			Info:     &ServiceInfo{ProtectThreshold: 0.5, Metadata: map[string]string{"owner": "shop"}},
			Clusters: map[string]ClusterInfo{"NEW": cluster},
			Instances: []Persistent{
				{Registration: r, ID: "7"},
				{Registration: registration("192.0.2.1", 3)},
			},
		},
		serviceKey("fresh"):  {Info: &ServiceInfo{}},
		serviceKey("filled"): {Instances: []Persistent{{Registration: r}}},
	}
	before := s.revisions.Load()
	require.NoError(t, s.RestoreDurable(maps.All(state)))
	require.Equal(t, uint64(5), s.revisions.Load()-before, "one revision for each service that differs")

	got := lookup(t, s, stays)
	require.Equal(t, []int{1, 3}, ports(s, stays))
	i := instance(t, s, stays, r.InstanceKey)
	require.False(t, i.Healthy, "what was probed before is still known")
	require.Equal(t, "7", i.ID)
	require.Equal(t, ServiceInfo{ProtectThreshold: 0.5, Metadata: map[string]string{"owner": "shop"}, Explicit: true}, got.Service())
	require.Equal(t, []string{"DEFAULT", "NEW"}, got.Clusters())
	require.Equal(t, cluster, got.ClusterInfo("NEW"))
	require.Equal(t, DefaultClusterInfo(), got.ClusterInfo("OLD"))

	_, ok := s.Lookup(goes)
	require.False(t, ok)
	require.Equal(t, ServiceInfo{}, lookup(t, s, mixed).Service())
	require.Equal(t, []int{1}, ports(s, mixed), "ephemeral instances are not the state's")
	require.Equal(t, []int{1}, ports(s, implicit))
	require.True(t, lookup(t, s, serviceKey("fresh")).Service().Explicit)
	require.Equal(t, Stats{Services: 5, Instances: 5, Persistent: 3, Healthy: 4}, s.Stats())

	require.NoError(t, s.RestoreDurable(maps.All(map[wire.ServiceKey]Durable{})))
	require.Equal(t, Stats{Services: 2, Instances: 2, Healthy: 2}, s.Stats())
}

func TestRestoreDurable_SkipsAndReportsWhatIsNotValid(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("partly")
	nan := 0.0
	nan /= nan
	err := s.RestoreDurable(maps.All(map[wire.ServiceKey]Durable{
		k: {
			Info:     &ServiceInfo{ProtectThreshold: nan},
			Clusters: map[string]ClusterInfo{"a b": {}, "OK": {}},
			Instances: []Persistent{
				{Registration: registration("300.1.1.1", 1)}, {Registration: registration("192.0.2.1", 2)},
			},
		},
		serviceKey("a b"): {},
	}))
	for _, why := range []string{"is incorrect", "protectThreshold", "cluster name", "dom name", "restore public"} {
		require.ErrorContains(t, err, why)
	}
	r := lookup(t, s, k)
	require.Equal(t, []int{2}, ports(s, k))
	require.Equal(t, []string{"DEFAULT", "OK"}, r.Clusters())
	require.Equal(t, []string{"public"}, s.Namespaces())
	require.False(t, r.Service().Explicit)
	require.Len(t, slices.Collect(r.Persistent()), 1)
}
