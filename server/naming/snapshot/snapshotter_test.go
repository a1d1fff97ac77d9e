package snapshot

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var orders = wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: "orders"}}

func registration(port int) naming.Registration {
	return naming.Registration{
		InstanceKey: naming.InstanceKey{Cluster: "DEFAULT", IP: "192.0.2.1", Port: port}, Weight: 1, Enabled: true, Healthy: true,
	}
}

func newStore(t *testing.T) *naming.Store {
	t.Helper()
	s := naming.New(naming.Options{})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func open(t *testing.T, o Options) *Snapshotter {
	t.Helper()
	s, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestSnapshotter_AServerThatStartsAgainServesAtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ephemeral")
	a := newStore(t)
	s := open(t, Options{Store: a, Path: path})
	for port := range 3 {
		require.NoError(t, a.Register(orders, registration(port)))
	}
	require.Empty(t, names(t, dir), "nothing is written between the looks")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Equal(t, []string{"ephemeral"}, names(t, dir))
	info, err := os.Stat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}

	var log bytes.Buffer
	b := newStore(t)
	s = open(t, Options{Store: b, Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r, ok := b.Lookup(orders)
	require.True(t, ok)
	require.Equal(t, 3, r.Len())
	require.Equal(t, 3, r.HealthyCount())
	require.Contains(t, log.String(), "instances=3")
	require.NoError(t, os.Remove(path))
	require.NoError(t, s.Close())
	require.Empty(t, names(t, dir), "what was restored and did not change is not written again")
}

func TestSnapshotter_WritesWhatChangedAndOnlyThen(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, "ephemeral")
		registry := prometheus.NewRegistry()
		store := newStore(t)
		s := open(t, Options{Store: store, Path: path, Registerer: registry})
		time.Sleep(2 * DefaultPeriod)
		synctest.Wait()
		require.Empty(t, names(t, dir))

		beatOn := func() {
			for range 6 {
				_, err := store.Beat(orders, registration(1).InstanceKey, nil)
				require.NoError(t, err)
				time.Sleep(DefaultPeriod / 6)
			}
			synctest.Wait()
		}
		require.NoError(t, store.Register(orders, registration(1)))
		beatOn()
		first, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
		beatOn()
		require.Empty(t, names(t, dir), "beats are no change")
		require.NoError(t, store.Register(orders, registration(2)))
		beatOn()
		second, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Greater(t, len(second), len(first))
		got := gathered(t, registry)
		require.Equal(t, 2.0, got["rollcall_snapshot_writes_total"])
		require.Equal(t, float64(len(second)), got["rollcall_snapshot_bytes"])
		require.Zero(t, got["rollcall_snapshot_failures_total"])
		require.Contains(t, got, "rollcall_snapshot_duration_seconds")
		require.NoError(t, s.Close())
	})
}

func gathered(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		values[f.GetName()] = f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue()
	}
	return values
}

func TestSB22_ADamagedSnapshotIsSetAside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ephemeral")
	a := newStore(t)
	s := open(t, Options{Store: a, Path: path})
	require.NoError(t, a.Register(orders, registration(1)))
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)

	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for what, damaged := range map[string][]byte{
		"torn": whole[:len(whole)-7], "flipped": flipped, "empty": {}, "foreign": []byte("not a snapshot at all"),
	} {
		t.Run(what, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, damaged, 0o600))
			var log bytes.Buffer
			b := newStore(t)
			s := open(t, Options{Store: b, Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.Equal(t, naming.Stats{}, b.Stats(), "it starts without")
			require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
			require.Contains(t, log.String(), "set aside")
			require.Equal(t, []string{"ephemeral.damaged"}, names(t, dir))
			kept, err := os.ReadFile(path + ".damaged")
			require.NoError(t, err)
			require.Equal(t, damaged, kept)

			require.NoError(t, b.Register(orders, registration(2)))
			require.NoError(t, s.Close())
			c := newStore(t)
			require.NoError(t, open(t, Options{Store: c, Path: path}).Close())
			require.Equal(t, 1, c.Stats().Instances, "and goes on as ever")
			require.NoError(t, os.Remove(path))
		})
	}
}

func TestSB22_AKilledWriterLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ephemeral")
	a := newStore(t)
	s := open(t, Options{Store: a, Path: path})
	require.NoError(t, a.Register(orders, registration(1)))
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(path+".tmp", []byte("half"), 0o644))

	b := newStore(t)
	s = open(t, Options{Store: b, Path: path})
	require.Equal(t, 1, b.Stats().Instances)
	require.NoError(t, b.Register(orders, registration(2)))
	require.NoError(t, s.Close())
	require.Equal(t, []string{"ephemeral"}, names(t, dir))
	info, err := os.Stat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Equal(t, os.FileMode(0o600), info.Mode(), "not that of the leftover")
	}
}

// faulty is a store whose disk fails while broken.
type faulty struct {
	mu       sync.Mutex
	changes  uint64
	broken   bool
	attempts int
	restore  error
	records  int
	// slow is how long writing takes; decisions and times are for what is urgent.
	slow      time.Duration
	decisions chan struct{}
	times     []time.Time
}

var errDisk = errors.New("no space left")

func (f *faulty) set(broken bool) { f.mu.Lock(); defer f.mu.Unlock(); f.broken = broken; f.changes++ }

func (f *faulty) Changes() uint64 { f.mu.Lock(); defer f.mu.Unlock(); return f.changes }

func (f *faulty) Snapshot(w io.Writer) (int, error) {
	begun := time.Now()
	time.Sleep(f.slow)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempts++
	f.times = append(f.times, begun)
	_, err := io.WriteString(w, "half")
	if f.broken {
		err = errDisk
	}
	return 1, err
}

func (f *faulty) Decisions() <-chan struct{} { return f.decisions }

func (f *faulty) written() int { f.mu.Lock(); defer f.mu.Unlock(); return f.attempts }

// decide makes a change that must not wait.
func (f *faulty) decide() {
	f.set(f.broken)
	select {
	case f.decisions <- struct{}{}:
	default:
	}
}

func (f *faulty) RestoreSnapshot(io.Reader) (int, error) { return f.records, f.restore }

func TestSB23_AFailingDiskIsReportedOnceAndTriedOn(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		registry := prometheus.NewRegistry()
		store := &faulty{}
		path := filepath.Join(dir, "ephemeral")
		s := open(t, Options{
			Store: store, Path: path, Period: time.Second, Registerer: registry,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		store.set(true)
		time.Sleep(100500 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 100, store.attempts)
		require.Equal(t, 1, strings.Count(log.String(), "\n"))
		require.Contains(t, log.String(), errDisk.Error())
		require.Empty(t, names(t, dir), "no half file is left")
		require.Equal(t, 100.0, gathered(t, registry)["rollcall_snapshot_failures_total"])

		store.set(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, 101, store.attempts)
		require.Equal(t, 2, strings.Count(log.String(), "\n"))
		require.Contains(t, log.String(), "again")

		store.set(true)
		require.ErrorIs(t, s.Close(), errDisk, "who closes learns what was not kept")
		require.ErrorIs(t, s.Close(), errDisk)
		require.Equal(t, 102, store.attempts)
		require.Equal(t, []string{"ephemeral"}, names(t, dir))
	})
}

// TestSB22_DecisionsAreWrittenSoon: what an operator changed of ephemeral
// instances is not forgotten for the period, and a stream of changes does not
// make the snapshotter write all the time.
func TestSB22_DecisionsAreWrittenSoon(t *testing.T) {
	for name, c := range map[string]struct {
		slow   time.Duration
		spaces []time.Duration // between what is written, the first from the first decision
	}{
		"a small file": {0, []time.Duration{time.Second, time.Second, time.Second, time.Second}},
		"a large one": {
			300 * time.Millisecond,
			[]time.Duration{time.Second, 6300 * time.Millisecond, 6300 * time.Millisecond},
		},
		"a huge one": {
			10 * time.Second,
			[]time.Duration{time.Second, 40 * time.Second, 40 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ephemeral")
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{slow: c.slow, decisions: make(chan struct{}, 1)}
				s := open(t, Options{Store: store, Path: path, Period: 30 * time.Second})
				time.Sleep(5 * time.Second)
				before := time.Now()
				for time.Since(before) < 100*time.Second {
					store.decide()
					time.Sleep(time.Millisecond)
				}
				require.NoError(t, s.Close())
				require.Greater(t, len(store.times), len(c.spaces))
				for i, space := range c.spaces {
					require.InDelta(t, space, store.times[i].Sub(before), float64(5*time.Millisecond), "write %d", i)
					before = store.times[i]
				}
			})
		})
	}
}

func TestSB22_ADecisionIsWrittenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ephemeral")
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{decisions: make(chan struct{}, 1)}
		s := open(t, Options{Store: store, Path: path})
		store.decide()
		time.Sleep(999 * time.Millisecond)
		store.decide()
		synctest.Wait()
		require.Zero(t, store.written())
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 1, store.written())
		store.decide()
		require.NoError(t, s.Close(), "it does not wait for what may come")
		require.Equal(t, 2, store.written())
	})
}

// TestSB22_WhatAnOperatorChangedOutlivesAKill has the real store and copies the
// file as a kill would leave it.
func TestSB22_WhatAnOperatorChangedOutlivesAKill(t *testing.T) {
	key := func(port int) naming.InstanceKey { return registration(port).InstanceKey }
	no, weight := false, 3.5
	given := naming.Given{Weight: true, Enabled: true, Metadata: true, App: true}
	for name, c := range map[string]struct {
		change func(t *testing.T, s *naming.Store)
		want   func(t *testing.T, s *naming.Store, i *naming.Instance)
	}{
		"taken out of service": {
			func(t *testing.T, s *naming.Store) {
				require.NoError(t, s.Patch(orders, key(1), naming.Patch{Enabled: &no}))
			},
			func(t *testing.T, _ *naming.Store, i *naming.Instance) { require.False(t, i.Enabled) },
		},
		"a weight": {
			func(t *testing.T, s *naming.Store) {
				require.NoError(t, s.Patch(orders, key(1), naming.Patch{Weight: &weight}))
			},
			func(t *testing.T, _ *naming.Store, i *naming.Instance) { require.InDelta(t, weight, i.Weight, 0) },
		},
		"everything": {
			func(t *testing.T, s *naming.Store) {
				r := registration(1)
				r.Metadata = map[string]string{"zone": "b"}
				require.NoError(t, s.Update(orders, r, given, true))
			},
			func(t *testing.T, _ *naming.Store, i *naming.Instance) { require.Equal(t, "b", i.Metadata["zone"]) },
		},
		"metadata": {
			func(t *testing.T, s *naming.Store) {
				require.Len(t, s.PatchMetadata(orders, nil, map[string]string{"zone": "c"}, nil), 2)
			},
			func(t *testing.T, _ *naming.Store, i *naming.Instance) { require.Equal(t, "c", i.Metadata["zone"]) },
		},
		"deregistered": {
			func(t *testing.T, s *naming.Store) { require.NoError(t, s.Deregister(orders, key(1))) },
			func(t *testing.T, s *naming.Store, i *naming.Instance) {
				require.Nil(t, i)
				require.Equal(t, 1, s.Stats().Instances)
			},
		},
		"the service deleted": {
			func(t *testing.T, s *naming.Store) { require.NoError(t, s.RemoveService(orders)) },
			func(t *testing.T, s *naming.Store, i *naming.Instance) { require.Zero(t, s.Stats().Instances) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, killed := t.TempDir(), filepath.Join(t.TempDir(), "ephemeral")
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(dir, "ephemeral")
				store := newStore(t)
				s := open(t, Options{Store: store, Path: path, Period: 10 * time.Second})
				require.NoError(t, store.Register(orders, registration(1)))
				require.NoError(t, store.Register(orders, registration(2)))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				require.Empty(t, names(t, dir), "registrations come again by themselves")
				time.Sleep(9 * time.Second)
				synctest.Wait()
				require.NotEmpty(t, names(t, dir))
				c.change(t, store)
				time.Sleep(decisionDelay)
				synctest.Wait()
				left, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(killed, left, 0o600))
				require.NoError(t, s.Close())

				after := newStore(t)
				require.NoError(t, open(t, Options{Store: after, Path: killed}).Close())
				var found *naming.Instance
				if r, ok := after.Lookup(orders); ok {
					found, _ = r.Find(key(1))
				}
				c.want(t, after, found)
			})
		})
	}
}

func TestOpen_WhatTheOperatorMustPutRight(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(Options{Path: filepath.Join(dir, "x")})
	require.ErrorContains(t, err, "required")
	_, err = Open(Options{Store: &faulty{}})
	require.ErrorContains(t, err, "required")
	_, err = Open(Options{Store: &faulty{}, Path: filepath.Join(dir, "missing", "x")})
	require.ErrorIs(t, err, os.ErrNotExist)

	path := filepath.Join(dir, "ephemeral")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err = Open(Options{Store: &faulty{restore: errDisk}, Path: path})
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, path)

	var log bytes.Buffer
	s, err := Open(Options{
		Store: &faulty{restore: wire.BadRequest("one is odd"), records: 3}, Path: path,
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	require.Contains(t, log.String(), "one is odd")
	require.NoError(t, s.Close())
}
