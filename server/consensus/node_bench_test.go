package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/state"
)

func register(n int) *state.RegisterInstance {
	return &state.RegisterInstance{Instance: state.Instance{
		Service: wire.ServiceKey{
			Namespace:   wire.PublicNamespace,
			ServiceName: wire.ServiceName{Group: wire.DefaultGroup, Name: fmt.Sprintf("service-%d", n/100)},
		},
		InstanceKey: state.InstanceKey{Cluster: wire.DefaultCluster, IP: fmt.Sprintf("192.0.2.%d", n%100), Port: 8080},
		Weight:      1, Enabled: true, Healthy: true,
		Metadata: map[string]string{"version": "1.2.3", "zone": "a", "preserved.register.source": "SPRING_CLOUD"},
	}}
}

// withInstances makes a data directory with that many persistent instances,
// part of them in a snapshot and part in the log.
func withInstances(t testing.TB, n int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	metrics := prometheus.NewRegistry()
	node, err := consensus.Open(t.Context(), consensus.Options{Dir: dir, FSM: state.New(), Registerer: metrics})
	require.NoError(t, err)
	var group sync.WaitGroup
	var next atomic.Int64
	for range 512 { // as many as are written at once
		group.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				_, err := state.Propose(context.Background(), node, register(int(i-1)))
				for errors.Is(err, consensus.ErrUnavailable) { // of a disk that stands still for seconds
					_, err = state.Propose(context.Background(), node, register(int(i-1)))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	// The snapshot is taken and the log cut while more is proposed. A node that ends
	// takes none, and waits for one that is being taken no longer than it may.
	require.Eventually(t, func() bool { return snapshotsTaken(metrics) > 0 }, 2*time.Minute, time.Millisecond)
	require.NoError(t, node.Close())
	return dir
}

// snapshotsTaken is how many snapshots a node has done with.
func snapshotsTaken(metrics prometheus.Gatherer) (n float64) {
	families, err := metrics.Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if err == nil && f.GetName() == "rollcall_raft_snapshots_total" && m.GetLabel()[0].GetValue() == "taken" {
				n = m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// TestSB24_OpenReturnsWhenEverythingIsThere: there is no moment at which a node
// answers and has not loaded yet.
func TestSB24_OpenReturnsWhenEverythingIsThere(t *testing.T) {
	t.Parallel()
	dir := withInstances(t, 10_000)
	s := state.New()
	node, err := consensus.Open(t.Context(), consensus.Options{Dir: dir, FSM: s})
	require.NoError(t, err)
	require.Equal(t, 10_000, s.View().InstanceCount())
	require.Positive(t, node.Status().SnapshotIndex)
	require.NoError(t, node.Close())
}

// BenchmarkOpen is how long a node with 10,000 persistent instances takes to be
// ready; the promise is less than 300 ms.
func BenchmarkOpen(b *testing.B) {
	dir := withInstances(b, 10_000)
	for b.Loop() {
		node, err := consensus.Open(context.Background(), consensus.Options{Dir: dir, FSM: state.New()})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := node.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkPropose(b *testing.B) {
	for _, callers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers-%d", callers), func(b *testing.B) {
			node, err := consensus.Open(context.Background(), consensus.Options{Dir: b.TempDir(), FSM: state.New()})
			require.NoError(b, err)
			var next atomic.Int64
			var group sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range callers {
				group.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if _, err := state.Propose(context.Background(), node, register(int(i))); err != nil {
							b.Error(err)
						}
					}
				})
			}
			group.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "proposals/s")
			require.NoError(b, node.Close())
		})
	}
}

func BenchmarkBackup(b *testing.B) {
	node, err := consensus.Open(context.Background(), consensus.Options{Dir: withInstances(b, 10_000), FSM: state.New()})
	require.NoError(b, err)
	for b.Loop() {
		if err := node.Backup(context.Background(), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, node.Close())
}
