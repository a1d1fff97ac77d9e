package naming

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// apply puts a persistent instance in the way a request does: checked, decided
// elsewhere, applied.
func apply(t testing.TB, s *Store, k wire.ServiceKey, r Registration) (id string) {
	t.Helper()
	r, err := s.CheckPersistent(k, r, false)
	require.NoError(t, err)
	id, err = s.ApplyPersistent(k, Persistent{Registration: r})
	require.NoError(t, err)
	return id
}

func unhealthy(r Registration) Registration {
	r.Healthy = false
	return r
}

func TestPersistent_TheSameAddressAsBothKindsIsTwo(t *testing.T) {
	s := newStore(t, Options{})
	k, r := serviceKey("twice"), registration("192.0.2.1", 80)
	require.NoError(t, s.Register(k, r))
	heavy := r
	heavy.Weight = 5
	apply(t, s, k, heavy)

	revision := lookup(t, s, k)
	require.Equal(t, 2, revision.Len())
	ephemeral, persistent := revision.Find(r.InstanceKey)
	require.True(t, ephemeral.Ephemeral)
	require.False(t, persistent.Ephemeral)
	require.Equal(t, []float64{1, 5}, []float64{ephemeral.Weight, persistent.Weight})
	first, ok := revision.Get(r.InstanceKey)
	require.True(t, ok)
	require.Same(t, persistent, first, "the persistent one is looked up first")
	require.Equal(t, []*Instance{persistent, ephemeral}, slices.Collect(revision.All()))
	hosts, _ := revision.Select(Query{})
	require.Equal(t, []*Instance{persistent, ephemeral}, hosts, "both are listed")
	require.Equal(t, Stats{Services: 1, Instances: 2, Persistent: 1, Healthy: 2}, s.Stats())
	answer := string(revision.Answer(Query{}, 1, 1))
	require.Contains(t, answer, `"ephemeral":false`)
	require.Contains(t, answer, `"ephemeral":true`)

	require.NoError(t, s.Deregister(k, r.InstanceKey))
	ephemeral, persistent = lookup(t, s, k).Find(r.InstanceKey)
	require.Nil(t, ephemeral)
	require.NotNil(t, persistent)
	require.NoError(t, s.RemovePersistent(k, r.InstanceKey))
	require.NoError(t, s.RemovePersistent(k, r.InstanceKey), "it is removed already")
	require.NoError(t, s.RemovePersistent(serviceKey("unknown"), r.InstanceKey))
	require.Zero(t, lookup(t, s, k).Len(), "the service stays")
	require.Equal(t, Stats{Services: 1}, s.Stats())
}

func TestSB26_TheKindsAtAnAddress(t *testing.T) {
	s := newStore(t, Options{})
	k, both, one := serviceKey("d26"), registration("192.0.2.50", 80), registration("192.0.2.50", 81)
	apply(t, s, k, both)
	require.NoError(t, s.Register(k, both))
	apply(t, s, k, one)

	r := lookup(t, s, k)
	ephemeral, persistent := r.Find(both.InstanceKey)
	require.True(t, ephemeral != nil && persistent != nil, "the flag selects")
	ephemeral, persistent = r.Find(one.InstanceKey)
	require.True(t, ephemeral == nil && persistent != nil, "found without the flag")
	ephemeral, persistent = r.Find(at("192.0.2.51", 80))
	require.True(t, ephemeral == nil && persistent == nil, "never seen")

	require.NoError(t, s.Deregister(k, one.InstanceKey))
	require.True(t, has(lookup(t, s, k), one.InstanceKey), "the other kind's door does not touch it")

	require.NoError(t, s.CheckDeleteService(k))
	require.NoError(t, s.RemoveService(k))
	require.Equal(t, Stats{}, s.Stats())
	require.ErrorIs(t, s.CheckDeleteService(k), ErrServiceNotFound)
}

func TestSB09_OfPersistentInstances(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("p9")
	require.NoError(t, s.ApplyService(k, ServiceInfo{}))
	apply(t, s, k, unhealthy(registration("127.0.0.1", 1)))
	apply(t, s, k, unhealthy(registration("127.0.0.1", 2)))
	listed := func(q Query) (ports []int, protected bool) {
		hosts, protected := lookup(t, s, k).Select(q)
		for _, i := range hosts {
			ports = append(ports, i.Port)
		}
		return ports, protected
	}
	for _, only := range []bool{false, true} {
		got, protected := listed(Query{HealthyOnly: only})
		require.Equal(t, []int{1, 2}, got)
		require.True(t, protected)
	}
	require.Contains(t, string(lookup(t, s, k).Answer(Query{}, 1, 1)), `"reachProtectionThreshold":true`)
	require.True(t, lookup(t, s, k).Protected())
	require.False(t, instance(t, s, k, at("127.0.0.1", 1)).Healthy, "the real health is shown elsewhere")

	require.True(t, s.SetPersistentHealth(k, at("127.0.0.1", 2), true))
	got, protected := listed(Query{})
	require.Equal(t, []int{1, 2}, got)
	require.False(t, protected)
	require.Contains(t, string(lookup(t, s, k).Answer(Query{}, 1, 1)), `"reachProtectionThreshold":false`)
	got, _ = listed(Query{HealthyOnly: true})
	require.Equal(t, []int{2}, got)
	require.Equal(t, 1, lookup(t, s, k).HealthyCount())
	require.False(t, lookup(t, s, k).Protected(), "one of two is healthy")

	require.NoError(t, s.ApplyService(k, ServiceInfo{ProtectThreshold: 0.8}))
	got, protected = listed(Query{HealthyOnly: true})
	require.Equal(t, []int{1, 2}, got)
	require.True(t, protected)

	require.NoError(t, s.Register(k, registration("127.0.0.1", 3)))
	require.NoError(t, s.Register(k, registration("127.0.0.1", 4)))
	require.NoError(t, s.ApplyService(k, ServiceInfo{ProtectThreshold: 0.7}))
	_, protected = listed(Query{})
	require.False(t, protected, "both kinds count together: three of four")

	off := registration("127.0.0.1", 1)
	off.Enabled = false
	apply(t, s, k, off)
	require.NoError(t, s.ApplyService(k, ServiceInfo{ProtectThreshold: 1}))
	got, _ = listed(Query{})
	require.Equal(t, []int{2, 3, 4}, got, "a disabled one is never listed")
}

func TestPersistent_NeverExpiresAndBeatsChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k, r := serviceKey("stays"), withMetadata(registration("192.0.2.1", 80), wire.MetadataBeatInterval, "7000")
		apply(t, s, k, r)
		time.Sleep(time.Hour)
		revision := lookup(t, s, k)
		require.True(t, instance(t, s, k, r.InstanceKey).Healthy)

		for _, full := range []*wire.Beat{nil, {Weight: 9, Metadata: map[string]string{"new": "yes"}}} {
			result, err := s.Beat(k, r.InstanceKey, full)
			require.NoError(t, err)
			require.Equal(t, BeatResult{Known: true, Interval: 7 * time.Second}, result)
		}
		require.Same(t, revision, lookup(t, s, k))
		require.True(t, s.SetPersistentHealth(k, r.InstanceKey, false))
		_, err := s.Beat(k, r.InstanceKey, nil)
		require.NoError(t, err)
		require.False(t, instance(t, s, k, r.InstanceKey).Healthy, "a beat is no probe")
	})
}

func TestPersistent_RegisteringAgainKeepsIDAndHealth(t *testing.T) {
	s := newStore(t, Options{})
	k, r := serviceKey("again"), registration("192.0.2.1", 80)
	require.Equal(t, "192.0.2.1#80#DEFAULT#DEFAULT_GROUP@@again", apply(t, s, k, r))
	require.True(t, s.SetPersistentHealth(k, r.InstanceKey, false))
	changes := 0
	s.OnChange(func(wire.ServiceKey) { changes++ })
	number := lookup(t, s, k).Number()
	apply(t, s, k, r)
	require.Zero(t, changes)
	require.Equal(t, number, lookup(t, s, k).Number(), "nothing to see is no new revision")
	r.Weight, r.App = 3, "shop"
	apply(t, s, k, r)
	i := instance(t, s, k, r.InstanceKey)
	require.False(t, i.Healthy)
	require.Equal(t, 3.0, i.Weight)
	require.Equal(t, "shop", i.App)
	require.Equal(t, 1, changes)
}

func TestPersistentID_Numbers(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("numbered")
	numbered := func(port int) Registration {
		return withMetadata(registration("192.0.2.1", port), wire.MetadataIDGenerator, "SnowFlake")
	}
	require.NoError(t, s.Register(k, numbered(9)))
	for port := range 3 {
		require.Equal(t, string(rune('0'+port)), apply(t, s, k, numbered(port)), "the kinds are numbered apart")
	}
	require.NoError(t, s.RemovePersistent(k, at("192.0.2.1", 1)))
	require.Equal(t, "1", apply(t, s, k, numbered(7)))
	require.Equal(t, "2", apply(t, s, k, numbered(2)), "a known one keeps its id")
	id, err := s.ApplyPersistent(k, Persistent{Registration: numbered(8), ID: "5"})
	require.NoError(t, err)
	require.Equal(t, "5", id)
	require.Equal(t, "3", apply(t, s, k, numbered(10)))
	require.Equal(t, "4", apply(t, s, k, numbered(11)))
	require.Equal(t, "6", apply(t, s, k, numbered(12)))
}

func TestCheckPersistent(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("checked")
	r, err := s.CheckPersistent(k, Registration{InstanceKey: InstanceKey{IP: "[2001:DB8::1]", Port: 1}, Weight: 0.001}, false)
	require.NoError(t, err)
	require.Equal(t, Registration{
		InstanceKey: InstanceKey{Cluster: "DEFAULT", IP: "2001:db8::1", Port: 1}, Weight: 0.01, App: "DEFAULT",
	}, r)
	_, ok := s.Lookup(k)
	require.False(t, ok, "a check changes nothing")

	good := registration("192.0.2.1", 1)
	for why, change := range map[string]func(k *wire.ServiceKey, r *Registration){
		"is incorrect":           func(_ *wire.ServiceKey, r *Registration) { r.IP = "300.1.1.1" },
		"range":                  func(_ *wire.ServiceKey, r *Registration) { r.Weight = -1 },
		"cluster name":           func(_ *wire.ServiceKey, r *Registration) { r.Cluster = "a b" },
		"port":                   func(_ *wire.ServiceKey, r *Registration) { r.Port = -1 },
		"dom name can only have": func(k *wire.ServiceKey, _ *Registration) { k.Name = "a b" },
		"zero byte":              func(k *wire.ServiceKey, _ *Registration) { k.Namespace = "\x00" },
	} {
		k, r := k, good
		change(&k, &r)
		_, err := s.CheckPersistent(k, r, false)
		requireBadRequest(t, err, why)
		_, err = s.ApplyPersistent(k, Persistent{Registration: r})
		requireBadRequest(t, err, why)
	}

	_, err = s.CheckPersistent(k, good, true)
	require.ErrorIs(t, err, ErrServiceNotFound)
	requireBadRequest(t, err, "service not found, namespace: public, service: DEFAULT_GROUP@@checked")
	require.NoError(t, s.Register(k, good))
	_, err = s.CheckPersistent(k, good, true)
	require.ErrorIs(t, err, ErrInstanceNotFound, "the ephemeral one at the address does not count")
	requireBadRequest(t, err, "instance not exist: 192.0.2.1:1:unknown:DEFAULT_1.0_true_false_DEFAULT")
	apply(t, s, k, good)
	other := good
	other.Cluster = "B"
	for _, r := range []Registration{good, other} {
		_, err = s.CheckPersistent(k, r, true)
		require.NoError(t, err, "the cluster does not count")
	}
	require.NoError(t, s.Deregister(k, good.InstanceKey))
	require.ErrorIs(t, s.Update(k, good, Given{}, true), ErrInstanceNotFound, "nor does the persistent one for an ephemeral update")
}

func TestPatchMetadata_OfAllIsOfAllEphemerals(t *testing.T) {
	s := newStore(t, Options{})
	k, r := serviceKey("batch"), registration("192.0.2.1", 1)
	require.NoError(t, s.Register(k, r))
	apply(t, s, k, r)
	require.Equal(t, []InstanceKey{r.InstanceKey}, s.PatchMetadata(k, nil, map[string]string{"a": "1"}, nil))
	ephemeral, persistent := lookup(t, s, k).Find(r.InstanceKey)
	require.Equal(t, map[string]string{"a": "1"}, ephemeral.Metadata)
	require.Empty(t, persistent.Metadata)
	require.Len(t, slices.Collect(s.Records(k)), 1, "peers exchange ephemeral instances")
}

func TestSetPersistentHealth(t *testing.T) {
	s := newStore(t, Options{})
	k, r := serviceKey("probed"), registration("2001:db8::1", 80)
	require.False(t, s.SetPersistentHealth(k, r.InstanceKey, true), "unknown service")
	require.NoError(t, s.Register(k, r))
	require.False(t, s.SetPersistentHealth(k, r.InstanceKey, false), "the ephemeral one is not probed")
	require.False(t, s.SetPersistentHealth(k, at(":::", 1), false), "no address")
	apply(t, s, k, r)
	changes := 0
	s.OnChange(func(wire.ServiceKey) { changes++ })
	require.False(t, s.SetPersistentHealth(k, r.InstanceKey, true))
	require.True(t, s.SetPersistentHealth(k, at("2001:DB8:0::1", 80), false))
	require.False(t, s.SetPersistentHealth(k, r.InstanceKey, false))
	require.Equal(t, 1, changes)
	ephemeral, persistent := lookup(t, s, k).Find(r.InstanceKey)
	require.True(t, ephemeral.Healthy)
	require.False(t, persistent.Healthy)
}

func TestSetHealth_OnlyWhereNothingChecks(t *testing.T) {
	s := newStore(t, Options{})
	k, r := serviceKey("word"), registration("192.0.2.1", 80)
	require.ErrorIs(t, s.SetHealth(k, r.InstanceKey, false), ErrServiceNotFound)
	require.NoError(t, s.Register(k, r))
	apply(t, s, k, r)
	requireBadRequest(t, s.SetHealth(k, r.InstanceKey, false), "health check is still working, service: DEFAULT_GROUP@@word")
	none, err := ParseHealthChecker(`{"type":"NONE"}`)
	require.NoError(t, err)
	require.NoError(t, s.ApplyCluster(k, "DEFAULT", ClusterInfo{Checker: none}))
	requireBadRequest(t, s.SetHealth(k, InstanceKey{Cluster: "B", IP: "192.0.2.1", Port: 80}, false), "still working")
	requireBadRequest(t, s.SetHealth(k, at("300.1.1.1", 80), false), "is incorrect")

	require.NoError(t, s.SetHealth(k, at("192.0.2.9", 9), false), "unknown instance")
	require.NoError(t, s.SetHealth(k, r.InstanceKey, false))
	require.Zero(t, lookup(t, s, k).HealthyCount())
	_, err = s.Beat(k, r.InstanceKey, nil)
	require.NoError(t, err)
	ephemeral, persistent := lookup(t, s, k).Find(r.InstanceKey)
	require.True(t, ephemeral.Healthy)
	require.False(t, persistent.Healthy)
	require.NoError(t, s.SetHealth(k, r.InstanceKey, true))
	require.Equal(t, 2, lookup(t, s, k).HealthyCount())
}

func TestPersistent_ConcurrentWithEverything(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("busy")
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			for round := range 100 {
				r := registration("192.0.2.1", round%10)
				var err error
				switch worker {
				case 0:
					_, err = s.ApplyPersistent(k, Persistent{Registration: r})
				case 1:
					err = s.RemovePersistent(k, r.InstanceKey)
				case 2:
					s.SetPersistentHealth(k, r.InstanceKey, round%3 == 0)
				case 3:
					err = s.Register(k, r)
				case 4:
					err = s.RestoreDurable(maps.All(map[wire.ServiceKey]Durable{
						k: {Instances: []Persistent{{Registration: r}}},
					}))
				case 5:
					if revision, ok := s.Lookup(k); ok {
						if got := len(slices.Collect(revision.All())); got != revision.Len() {
							t.Errorf("%d instances, want %d", got, revision.Len())
						}
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r := lookup(t, s, k)
	healthy := 0
	for i := range r.All() {
		if i.Healthy {
			healthy++
		}
	}
	require.Equal(t, healthy, r.HealthyCount())
	require.Equal(t, Stats{
		Services: 1, Instances: r.Len(), Persistent: len(slices.Collect(r.Persistent())), Healthy: healthy,
	}, s.Stats())
}
