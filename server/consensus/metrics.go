package consensus

import (
	"fmt"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are those of a node. The vector of proposals counts by outcome.
type metrics struct {
	fsync     prometheus.Histogram
	proposals *prometheus.CounterVec
	snapshots *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		fsync: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "rollcall_raft_fsync_seconds",
			Help:    "How long the disk took to sync a batch of log entries.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 16), // 50 µs to 1.6 s
		}),
		proposals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_raft_proposals_total",
			Help: "Commands proposed by this node by what became of them: applied, refused (by the state, or as too large), " +
				"unavailable (no leader, overload, shutdown, a broken disk), unknown (the caller gave up waiting).",
		}, []string{"outcome"}),
		snapshots: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_raft_snapshots_total",
			Help: "Snapshots of the state by outcome: taken, failed.",
		}, []string{"outcome"}),
	}
	// They are there from the start, or nobody sees the first one that is counted.
	for _, outcome := range []string{"applied", "refused", "unavailable", "unknown"} {
		m.proposals.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"taken", "failed"} {
		m.snapshots.WithLabelValues(outcome)
	}
	return m
}

// register offers the metrics of a node that runs.
func (m *metrics) register(r prometheus.Registerer, n *Node) error {
	if r == nil {
		return nil
	}
	gauge := func(name, help string, value func(Status) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(n.Status()) })
	}
	for _, c := range []prometheus.Collector{
		m.fsync, m.proposals, m.snapshots,
		gauge("rollcall_raft_proposals_pending", "Commands of this node that are under way.",
			func(Status) float64 { return float64(len(n.slots)) }),
		gauge("rollcall_raft_leader", "1 while this node is the leader.",
			func(s Status) float64 { return oneIf(s.State == raft.Leader.String()) }),
		gauge("rollcall_raft_failed", "1 when this node cannot take part any more and has to be restarted.",
			func(s Status) float64 { return oneIf(s.Err != nil) }),
		gauge("rollcall_raft_term", "Current term.", func(s Status) float64 { return float64(s.Term) }),
		gauge("rollcall_raft_last_index", "Index of the newest log entry.", func(s Status) float64 { return float64(s.LastIndex) }),
		gauge("rollcall_raft_applied_index", "Index of the newest entry that the state has.",
			func(s Status) float64 { return float64(s.AppliedIndex) }),
		gauge("rollcall_raft_snapshot_index", "Index of the newest snapshot.", func(s Status) float64 { return float64(s.SnapshotIndex) }),
		gauge("rollcall_raft_log_bytes", "Size of the log on disk; 0 in memory.", func(s Status) float64 { return float64(s.LogBytes) }),
		gauge("rollcall_raft_snapshot_bytes", "Size of the newest snapshot on disk; 0 in memory.",
			func(s Status) float64 { return float64(s.SnapshotBytes) }),
	} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("register the consensus metrics: %w", err)
		}
	}
	return nil
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
