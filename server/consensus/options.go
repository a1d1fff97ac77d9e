package consensus

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// FSM is the replicated state machine: the same commands in the same order make
// the same state everywhere, so nothing in it depends on time, chance or the
// node.
type FSM interface {
	// Apply applies one committed command. Its results are those of
	// [Node.Propose] on the node that proposed it; an error there is a refusal,
	// which changes nothing and is the same on every node. An error with a method
	// Halts() bool that returns true says instead that this version does not know
	// the command: the node stops applying and keeps its log, until a version that
	// knows it is started on the same data.
	Apply(command []byte) (any, error)
	// Check says whether Apply would know the command. It is asked before a
	// command is proposed, so that nothing gets into the log that halts.
	Check(command []byte) error
	// Snapshot returns the state as it is, to be written later while commands are
	// applied. It takes no time worth mentioning.
	Snapshot() (io.WriterTo, error)
	// Restore replaces the state by a snapshot's. When it fails, the state is as
	// before.
	Restore(r io.Reader) error
	// CheckSnapshot says whether Restore would succeed.
	CheckSnapshot(r io.Reader) error
}

// Options of a [Node].
type Options struct {
	// Dir is the data directory, created when it is not there. Empty keeps
	// everything in memory, where it ends with the node.
	Dir string
	// FSM is the state machine, in its initial state. It must be given.
	FSM FSM
	// Logger receives few messages, and raft's own at debug level, bounded; nil
	// discards them.
	Logger *slog.Logger
	// Registerer takes the metrics; nil keeps them to the node. It must not have
	// those of another node.
	Registerer prometheus.Registerer

	tuning tuning
}

// tuning is what tests set smaller.
type tuning struct {
	snapshotEntries uint64 // entries and bytes of commands after which a snapshot is taken
	snapshotBytes   int
	trailingEntries uint64 // entries that stay in the log behind a snapshot
	segmentBytes    int64
}

// Limits.
const (
	// MaxCommandBytes is the length of the longest command.
	MaxCommandBytes = 1 << 20
	// maxPending is how many proposals may be under way; more are refused.
	maxPending = 4096
	// enqueueTimeout bounds the wait for raft's attention.
	enqueueTimeout = 5 * time.Second
	// drainTimeout and stopTimeout bound Close.
	drainTimeout = 5 * time.Second
	stopTimeout  = 5 * time.Second
	// singleVoterTimeout is the timeout of elections while there is nobody whose
	// silence could mean anything: how long the only voter waits at the start.
	singleVoterTimeout = 25 * time.Millisecond
	// maxBatch is how many commands are written and synced at once.
	maxBatch = 512
)

func defaultTuning() tuning {
	return tuning{snapshotEntries: 8192, snapshotBytes: 16 << 20, trailingEntries: 1024, segmentBytes: segmentBytes}
}

func (o *Options) complete() error {
	if o.FSM == nil {
		return errors.New("consensus needs a state machine")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.tuning == (tuning{}) {
		o.tuning = defaultTuning()
	}
	return nil
}
