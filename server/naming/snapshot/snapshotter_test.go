package snapshot

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
