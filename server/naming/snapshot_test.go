package naming

import (
	"bytes"
	"encoding/binary"
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
		requireBetween(t, gone, 30*time.Second, 30500*time.Millisecond, "removed")
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

func TestSB22_ADamagedSnapshotIsRefusedWhole(t *testing.T) {
	file := snapshotOf(t, varied(t))
	s := newStore(t, Options{})
	refuse := func(t require.TestingT, damaged []byte, what string, args ...any) {
		n, err := s.RestoreSnapshot(bytes.NewReader(damaged))
		require.ErrorIsf(t, err, ErrSnapshot, what, args...)
		require.Zero(t, n)
		require.Equal(t, Stats{}, s.Stats())
		require.Zero(t, s.clock.last.Load())
	}
	for length := range file {
		refuse(t, file[:length], "cut to %d bytes", length)
	}
	for at := range file {
		damaged := bytes.Clone(file)
		damaged[at] ^= 1 << (at % 8)
		refuse(t, damaged, "byte %d", at)
	}
	refuse(t, append(bytes.Clone(file), 0), "a byte too many")
	refuse(t, append(bytes.Clone(file), file...), "twice")
	_, err := newStore(t, Options{}).RestoreSnapshot(strings.NewReader("something else, and long enough"))
	require.ErrorContains(t, err, "format 1")
}

// framed makes a file of payloads that all have right checksums.
func framed(payloads ...[]byte) []byte {
	var b bytes.Buffer
	b.WriteString(snapshotMagic)
	f := frameWriter{w: &b}
	for _, p := range payloads {
		f.begin(p[0])
		f.buf = append(f.buf, p[1:]...)
		f.end()
	}
	return b.Bytes()
}

func TestSB22_FramesOutOfPlaceOrMalformed(t *testing.T) {
	clock, end := []byte{frameClock, 5}, []byte{frameEnd, 0}
	service := appendService([]byte{frameRecords}, serviceKey("s"))
	for what, file := range map[string][]byte{
		"not its place":        framed(end),
		"instead of 1":         framed(clock, []byte{frameEnd, 1}),
		"malformed content":    framed([]byte{frameClock}, end),
		"kind 9 is unknown":    framed(clock, []byte{9}, end),
		"ends in the frame":    framed(clock, service),
		"a length of 0":        append(framed(clock), make([]byte, 8)...),
		"a length of 42949672": append(framed(clock), bytes.Repeat([]byte{255}, 8)...),
	} {
		_, err := readSnapshot(bytes.NewReader(file))
		require.ErrorIs(t, err, ErrSnapshot)
		require.ErrorContains(t, err, what)
	}
	for what, file := range map[string][]byte{
		"two clocks":              framed(clock, clock, end),
		"a clock past all time":   framed(binary.AppendUvarint([]byte{frameClock}, maxClock+1), end),
		"a number of ten bytes":   framed(append([]byte{frameClock}, bytes.Repeat([]byte{255}, 11)...), end),
		"a record cut":            framed(clock, append(bytes.Clone(service), 0), []byte{frameEnd, 1}),
		"a text past its frame":   framed(clock, append(bytes.Clone(service), 0, 200), end),
		"more metadata than room": framed(clock, append(bytes.Clone(service), 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127), end),
	} {
		_, err := readSnapshot(bytes.NewReader(file))
		require.ErrorIs(t, err, ErrSnapshot, what)
	}
	d, err := readSnapshot(bytes.NewReader(framed(clock, service, end)))
	require.NoError(t, err)
	require.Equal(t, uint64(5), d.clock)
}

func TestSnapshot_RecordsThatCannotBeAreSkippedAndReported(t *testing.T) {
	records := appendService([]byte{frameRecords}, serviceKey("partly"))
	for _, i := range []*Instance{
		newInstance(at("192.0.2.1", 1), "", record{reg: Registered{Version: Version{Clock: 1}, Weight: 1}}, true, new(liveness)),
		newInstance(at("300.1.1.1", 1), "", record{reg: Registered{Version: Version{Clock: 1}, Weight: 1}}, true, new(liveness)),
		newInstance(at("192.0.2.1", 2), "", record{reg: Registered{Version: Version{Clock: 1}, Weight: -1}}, true, new(liveness)),
	} {
		records = appendRecord(records, i)
	}
	s := newStore(t, Options{})
	n, err := s.RestoreSnapshot(bytes.NewReader(framed([]byte{frameClock, 0}, records, []byte{frameEnd, 3})))
	requireBadRequest(t, err, "is incorrect")
	require.NotErrorIs(t, err, ErrSnapshot)
	require.Equal(t, 3, n)
	require.Equal(t, []int{1}, ports(s, serviceKey("partly")))
}

func TestSnapshot_TellsAFaultyDiskFromADamagedFile(t *testing.T) {
	fault := errors.New("input/output error")
	file := snapshotOf(t, varied(t))
	for _, at := range []int{0, 3, 9, len(file) / 2} {
		s := newStore(t, Options{})
		_, err := s.RestoreSnapshot(io.MultiReader(bytes.NewReader(file[:at]), iotest.ErrReader(fault)))
		require.ErrorIs(t, err, fault)
		require.NotErrorIs(t, err, ErrSnapshot)
		require.Equal(t, Stats{}, s.Stats())
	}
	s := varied(t)
	for limit := range 4 {
		_, err := s.Snapshot(&failingWriter{writes: limit})
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
}

type failingWriter struct{ writes int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.writes--; w.writes < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
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

// FuzzRestoreSnapshot: whatever is in a file, reading it ends, takes no more
// memory than the file has, and what was accepted can be written and read again.
func FuzzRestoreSnapshot(f *testing.F) {
	s := newStore(f, Options{})
	require.NoError(f, s.Register(serviceKey("s"), registration("::1", 1))) // small: the fuzzer shortens what it keeps
	file := snapshotOf(f, s)
	f.Add(file)
	f.Add(file[:len(file)-3])
	f.Add([]byte(snapshotMagic))
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := readSnapshot(bytes.NewReader(file)); err != nil {
			require.ErrorIs(t, err, ErrSnapshot)
			return // before a store is started, which would slow the fuzzer down
		}
		s := New(Options{})
		defer s.Close()
		if _, err := s.RestoreSnapshot(bytes.NewReader(file)); err != nil {
			require.NotErrorIs(t, err, ErrSnapshot)
		}
		requireSurvives(t, s)
	})
}

// FuzzSnapshotFrame is the same behind the checksums, which the fuzzer cannot
// guess.
func FuzzSnapshotFrame(f *testing.F) {
	s := varied(f)
	for _, namespace := range s.Namespaces() {
		for _, r := range s.Services(namespace) {
			payload := appendService(nil, r.Key())
			for i := range r.Ephemeral() {
				payload = appendRecord(payload, i)
			}
			f.Add(payload)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		d := snapshotData{}
		if err := d.add(append([]byte{frameRecords}, payload...), frameClock, interned{}); err != nil {
			return
		}
		file := framed([]byte{frameClock, 0}, append([]byte{frameRecords}, payload...),
			binary.AppendUvarint([]byte{frameEnd}, uint64(d.records)))
		s := New(Options{})
		defer s.Close()
		if _, err := s.RestoreSnapshot(bytes.NewReader(file)); err != nil {
			require.NotErrorIs(t, err, ErrSnapshot)
		}
		requireSurvives(t, s)
	})
}

func requireSurvives(t *testing.T, s *Store) {
	t.Helper()
	again := New(Options{})
	defer again.Close()
	_, err := again.RestoreSnapshot(bytes.NewReader(snapshotOf(t, s)))
	require.NoError(t, err)
	require.Equal(t, recordsOf(s), recordsOf(again))
}
