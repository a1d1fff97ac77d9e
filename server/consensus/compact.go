package consensus

import (
	"errors"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"
)

// compactPause is the pause after a snapshot that failed. It doubles up to the
// longest.
const (
	compactPause   = time.Second
	compactLongest = 5 * time.Minute
)

// compact bounds the log: when the machine has applied enough, a snapshot is
// taken and the entries before it are deleted. It is the node's own goroutine.
func (n *Node) compact() {
	for {
		select {
		case <-n.machine.grown:
			n.snapshot()
		case <-n.closing:
			return
		}
	}
}

// snapshot takes a snapshot, trying until it is taken.
func (n *Node) snapshot() {
	for pause := compactPause; ; pause = min(2*pause, compactLongest) {
		err := n.raft.Snapshot().Error()
		switch {
		case err == nil:
			n.metrics.snapshots.WithLabelValues("taken").Inc()
			return
		case errors.Is(err, raft.ErrNothingNewToSnapshot), errors.Is(err, raft.ErrRaftShutdown), n.err() != nil:
			return
		}
		n.metrics.snapshots.WithLabelValues("failed").Inc()
		n.logger.Warn("the state could not be written to a snapshot; the log grows until it can",
			slog.String("error", err.Error()), slog.Duration("next", pause))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-n.closing:
			timer.Stop()
			return
		}
	}
}
