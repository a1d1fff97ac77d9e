package naming

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func snapshotOf(t testing.TB, s *Store) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := s.Snapshot(&b)
	require.NoError(t, err)
	return b.Bytes()
}

// varied is a store with a bit of everything.
func varied(t testing.TB) *Store {
	t.Helper()
	s := newStore(t, Options{Node: 3})
	k, other := serviceKey("varied"), wire.ServiceKey{Namespace: "ns", ServiceName: wire.ServiceName{Group: "G", Name: "other"}}
	for port := range 4 {
		require.NoError(t, s.Register(k, withMetadata(registration("192.0.2.1", port), "version", "2", "", "", "zone", "a,b=\n你好")))
	}
	require.NoError(t, s.Patch(k, at("192.0.2.1", 1), Patch{
		Enabled: new(false), Weight: new(5.5), App: new("shop"), Metadata: map[string]string{"version": "3"},
	}))
	require.NoError(t, s.Patch(k, at("192.0.2.1", 2), Patch{Healthy: new(false)}))
	require.NoError(t, s.Patch(k, at("192.0.2.1", 3), Patch{Weight: new(1.0)}), "an empty override")
	require.NoError(t, s.Register(other, withMetadata(registration("2001:db8::1", 65535), wire.MetadataIDGenerator, "snowflake")))
	r := registration("host.example", 1)
	r.Cluster, r.App, r.Enabled = "B", "shop", false
	require.NoError(t, s.Register(other, r))
	require.NoError(t, s.Register(other, r), "again, so that it began earlier than its version")
	apply(t, s, other, registration("192.0.2.7", 1))
	require.NoError(t, s.ApplyService(serviceKey("empty"), ServiceInfo{}))
	return s
}

func recordsOf(s *Store) map[wire.ServiceKey][]Record {
	all := map[wire.ServiceKey][]Record{}
	for _, namespace := range s.Namespaces() {
		for _, r := range s.Services(namespace) {
			for record := range s.Records(r.Key()) {
				record.Age = 0
				all[r.Key()] = append(all[r.Key()], record)
			}
		}
	}
	return all
}

func TestSnapshot_ComesBackWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := varied(t)
		time.Sleep(10 * time.Second)
		for port := range 3 {
			_, err := a.Beat(serviceKey("varied"), at("192.0.2.1", port+1), nil)
			require.NoError(t, err)
		}
		require.NoError(t, a.Patch(serviceKey("varied"), at("192.0.2.1", 2), Patch{Healthy: new(false)}))
		var file bytes.Buffer
		n, err := a.Snapshot(&file)
		require.NoError(t, err)
		require.Equal(t, 6, n)

		time.Sleep(time.Hour) // what matters is the life of the process that restores
		b := newStore(t, Options{Node: 3})
		n, err = b.RestoreSnapshot(bytes.NewReader(file.Bytes()))
		require.NoError(t, err)
		require.Equal(t, 6, n)
		require.Equal(t, a.clock.last.Load(), b.clock.last.Load())
		require.Equal(t, Stats{Services: 2, Instances: 6, Healthy: 5}, b.Stats(),
			"persistent instances and empty services are the state's")
		k := serviceKey("varied")
		i := instance(t, b, k, at("192.0.2.1", 1))
		require.Equal(t, values{weight: 5.5, metadata: map[string]string{"version": "3"}, app: "shop"}, i.values())
		require.False(t, instance(t, b, k, at("192.0.2.1", 2)).Healthy)
		require.NoError(t, b.Register(k, registration("192.0.2.1", 1)))
		require.Equal(t, 5.5, instance(t, b, k, at("192.0.2.1", 1)).Weight, "the operator's word still holds")

		again := newStore(t, Options{Node: 3})
		_, err = again.RestoreSnapshot(bytes.NewReader(file.Bytes()))
		require.NoError(t, err)
		first, err := again.RestoreSnapshot(bytes.NewReader(snapshotOf(t, again)))
		require.NoError(t, err)
		require.Equal(t, 6, first)
		c := newStore(t, Options{})
		_, err = c.RestoreSnapshot(bytes.NewReader(snapshotOf(t, again)))
		require.NoError(t, err)
		require.Equal(t, recordsOf(again), recordsOf(c))
	})
}

func TestSnapshot_EveryoneHasAFullTimeoutAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newStore(t, Options{})
		k, r := serviceKey("aged"), registration("192.0.2.1", 1)
		require.NoError(t, a.Register(k, r))
		require.NoError(t, a.Register(k, registration("192.0.2.1", 2)))
		require.NoError(t, a.Patch(k, at("192.0.2.1", 2), Patch{Healthy: new(false)}))
		time.Sleep(14 * time.Second)
		file := snapshotOf(t, a)
		b := newStore(t, Options{})
		time.Sleep(20 * time.Second) // its clock has gone on
		_, err := b.RestoreSnapshot(bytes.NewReader(file))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), instance(t, b, k, r.InstanceKey).LastBeat(), 2*leaseTick)
		dark, gone := silence(b, k, r.InstanceKey, time.Minute)
		requireBetween(t, dark, 15*time.Second, 15500*time.Millisecond, "unhealthy")
		requireBetween(t, gone, 30*time.Second, 33500*time.Millisecond, "removed, by halves")
	})
}

func TestSnapshot_VersionsGoOnAboveIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newStore(t, Options{})
		k, r := serviceKey("versions"), registration("192.0.2.1", 1)
		ahead := Version{Clock: uint64(time.Now().Add(time.Hour).UnixMilli()) << 16}
		a.clock.resume(ahead.Clock) // its wall clock was wrong, and is right again
		require.NoError(t, a.Register(k, r))
		file := snapshotOf(t, a)

		b := newStore(t, Options{})
		_, err := b.RestoreSnapshot(bytes.NewReader(file))
		require.NoError(t, err)
		before := slices.Collect(b.Records(k))[0].Registered.Version
		require.Positive(t, before.Compare(ahead))
		require.NoError(t, b.Register(k, r))
		require.NoError(t, b.Register(k, registration("192.0.2.1", 2)))
		for record := range b.Records(k) {
			require.Positive(t, record.Registered.Version.Compare(before), "port %d", record.Port)
		}
	})
}

func TestSnapshot_NumbersAreKept(t *testing.T) {
	a, b := newStore(t, Options{}), newStore(t, Options{})
	k := serviceKey("numbered")
	numbered := func(port int) Registration {
		return withMetadata(registration("192.0.2.1", port), wire.MetadataIDGenerator, "snowflake")
	}
	for port := range 3 {
		require.NoError(t, a.Register(k, numbered(port)))
	}
	require.NoError(t, a.Deregister(k, at("192.0.2.1", 0)))
	_, err := b.RestoreSnapshot(bytes.NewReader(snapshotOf(t, a)))
	require.NoError(t, err)
	for port, want := range map[int]string{1: "1", 2: "2"} {
		require.Equal(t, want, instance(t, b, k, at("192.0.2.1", port)).ID)
	}
	require.NoError(t, b.Register(k, numbered(9)))
	require.Equal(t, "0", instance(t, b, k, at("192.0.2.1", 9)).ID)
}

func TestSnapshot_ManyFrames(t *testing.T) {
	a, b := newStore(t, Options{}), newStore(t, Options{})
	k := serviceKey("large")
	records := make([]Record, 3000)
	for n := range records {
		records[n] = Record{InstanceKey: nth(n), Healthy: true, Registered: Registered{
			Version: Version{Clock: 1}, Weight: 1, Enabled: true, Metadata: map[string]string{"text": strings.Repeat("x", 200)},
		}}
	}
	require.NoError(t, a.Merge(k, records...))
	file := snapshotOf(t, a)
	require.Greater(t, len(file), 8*frameTarget)
	before := b.revisions.Load()
	n, err := b.RestoreSnapshot(iotest.HalfReader(bytes.NewReader(file)))
	require.NoError(t, err)
	require.Equal(t, 3000, n)
	require.Equal(t, uint64(1), b.revisions.Load()-before, "one revision, however many frames")
	require.Equal(t, lookup(t, a, k).Checksum(), lookup(t, b, k).Checksum())
}

func TestSnapshot_DoesNotHoldUpWriters(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("held")
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	read, write := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := s.Snapshot(write)
		done <- errors.Join(err, write.Close())
	}()
	_, err := io.ReadFull(read, make([]byte, 1)) // it is at work and stuck
	require.NoError(t, err)
	require.NoError(t, s.Register(k, registration("192.0.2.1", 2)))
	require.Equal(t, []int{1, 2}, ports(s, k))
	_, err = io.Copy(io.Discard, read)
	require.NoError(t, err)
	require.NoError(t, <-done)
}

func TestChanges_GrowWithWhatASnapshotHolds(t *testing.T) {
	s := newStore(t, Options{})
	k, r := serviceKey("counted"), registration("192.0.2.1", 1)
	changed := func(what string, want bool, f func() error) {
		t.Helper()
		before := s.Changes()
		require.NoError(t, f())
		require.Equal(t, want, s.Changes() > before, what)
	}
	changed("register", true, func() error { return s.Register(k, r) })
	changed("again, with a new version", true, func() error { return s.Register(k, r) })
	changed("beat", false, func() error { _, err := s.Beat(k, r.InstanceKey, nil); return err })
	changed("health", true, func() error { return s.Patch(k, r.InstanceKey, Patch{Healthy: new(false)}) })
	changed("recovery", true, func() error { _, err := s.Beat(k, r.InstanceKey, nil); return err })
	changed("persistent", false, func() error { _, err := s.ApplyPersistent(k, Persistent{Registration: r}); return err })
	changed("probe", false, func() error { s.SetPersistentHealth(k, r.InstanceKey, false); return nil })
	changed("service", false, func() error { return s.ApplyService(k, ServiceInfo{}) })
	changed("cluster", false, func() error { return s.ApplyCluster(k, "A", ClusterInfo{}) })
	changed("deregister", true, func() error { return s.Deregister(k, r.InstanceKey) })
	changed("deregister nothing", false, func() error { return s.Deregister(k, r.InstanceKey) })
	require.NoError(t, s.Register(k, r))
	changed("remove the service", true, func() error { return s.RemoveService(k) })
}

func TestSnapshot_AnyRecordsComeBack(t *testing.T) {
	optional := func(t *rapid.T, name string) bool { return rapid.Bool().Draw(t, name) }
	rapid.Check(t, func(t *rapid.T) {
		a, b := New(Options{}), New(Options{})
		defer a.Close()
		defer b.Close()
		k := serviceKey("any")
		for n := range rapid.IntRange(0, 5).Draw(t, "n") {
			v := wants.Draw(t, "registered")
			r := Record{
				InstanceKey: at("192.0.2.1", n), ID: texts.Draw(t, "id"), Healthy: optional(t, "healthy"),
				Registered: Registered{
					Version: versions.Draw(t, "version"), Since: versions.Draw(t, "since"),
					Weight: v.weight, Enabled: v.enabled, Metadata: v.metadata, App: v.app,
				},
			}
			if r.ID == "" {
				r.ID = fmt.Sprint(n)
			}
			if optional(t, "overridden") {
				o := &r.Override
				o.Version = versions.Draw(t, "override")
				if optional(t, "weight") {
					o.Weight = new(rapid.SampledFrom([]float64{0, 0.5, 10000}).Draw(t, "o.weight"))
				}
				if optional(t, "enabled") {
					o.Enabled = new(optional(t, "o.enabled"))
				}
				if optional(t, "app") {
					o.App = new(texts.Draw(t, "o.app"))
				}
				for key := range maps.Keys(metadatas.Draw(t, "o.metadata")) {
					if optional(t, "o.removed") {
						o.setMetadata(key, nil)
					} else {
						o.setMetadata(key, new(texts.Draw(t, "o.value")))
					}
				}
			}
			if err := a.Merge(k, r); err != nil {
				t.Fatal(err)
			}
		}
		var file bytes.Buffer
		if _, err := a.Snapshot(&file); err != nil {
			t.Fatal(err)
		}
		if _, err := b.RestoreSnapshot(&file); err != nil {
			t.Fatal(err)
		}
		want, got := recordsOf(a), recordsOf(b)
		for _, all := range []map[wire.ServiceKey][]Record{want, got} {
			for _, records := range all {
				for n := range records {
					if len(records[n].Registered.Metadata) == 0 {
						records[n].Registered.Metadata = nil
					}
				}
			}
		}
		require.Equal(t, want, got)
	})
}
