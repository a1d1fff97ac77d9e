package consensus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"
)

// Node is a member of the consensus group; today the only one, which needs no
// port. Its methods are safe for concurrent use.
type Node struct {
	id      string
	fsm     FSM
	logger  *slog.Logger
	metrics *metrics
	machine *machine
	raft    *raft.Raft
	disk    *storage // nil in memory
	slots   chan struct{}
	failure atomic.Pointer[error]

	mu      sync.Mutex
	closed  bool
	pending sync.WaitGroup // proposals; added to under mu while not closed
	closing chan struct{}
	joined  sync.WaitGroup // goroutines of the node
	once    sync.Once
	result  error
}

// Open starts a node and returns when it can be used: it leads, and the state
// machine has all that was ever acknowledged. With a ctx that ends before, it is
// closed and the error returned. Damaged data is a [DamageError], a data
// directory that another process has is [ErrDirectoryInUse].
func Open(ctx context.Context, o Options) (*Node, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	n := &Node{
		fsm: o.FSM, logger: o.Logger, metrics: newMetrics(),
		slots: make(chan struct{}, maxPending), closing: make(chan struct{}),
	}
	n.machine = &machine{fsm: o.FSM, tuning: o.tuning, grown: make(chan struct{}, 1), onHalt: n.fail}
	if err := n.start(o); err != nil {
		return nil, err
	}
	n.joined.Go(n.compact)
	err := n.ready(ctx)
	if err == nil {
		err = n.metrics.register(o.Registerer, n)
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// start opens the storage and runs raft on it.
func (n *Node) start(o Options) error {
	var (
		logs      raft.LogStore
		stable    raft.StableStore
		snapshots raft.SnapshotStore
		fresh     = true
	)
	if o.Dir == "" {
		memory := raft.NewInmemStore()
		n.id, logs, stable, snapshots = uuid.NewString(), memory, memory, raft.NewInmemSnapshotStore()
	} else {
		disk, err := openStorage(o, n.metrics, n.fail)
		if err != nil {
			return err
		}
		n.disk, n.id, fresh = disk, disk.directory.node, disk.directory.fresh
		logs, stable, snapshots = disk.log, disk.stable, disk.snapshots
	}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(n.id))
	config := n.config(o.tuning)
	err := n.bootstrap(fresh, config, logs, stable, snapshots, transport)
	if err == nil {
		if n.disk != nil {
			n.disk.stable.hold()
		}
		n.raft, err = raft.NewRaft(config, n.machine, logs, stable, snapshots, transport)
	}
	if err == nil {
		n.stand(config, transport)
		return nil
	}
	if cause := n.machine.restored.Load(); cause != nil {
		err = *cause
	}
	if n.disk != nil {
		err = errors.Join(err, n.disk.Close())
	}
	return fmt.Errorf("start consensus: %w", err)
}

// stand makes the node stand for election at once: as long as it is the only
// voter there is nobody whose silence it would have to wait for. Raft has a
// message for that, which a leader that leaves sends. If it gets lost, the election
// comes with the timeout.
func (n *Node) stand(c *raft.Config, transport *raft.InmemTransport) {
	_, leaver := raft.NewInmemTransport("")
	leaver.Connect(transport.LocalAddr(), transport)
	message := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: c.ProtocolVersion}}
	if err := leaver.TimeoutNow(c.LocalID, transport.LocalAddr(), message, &raft.TimeoutNowResponse{}); err != nil {
		n.logger.Debug("raft was not told to stand for election", slog.String("error", err.Error()))
	}
}

// bootstrap makes a new node the only voter, before its directory counts.
func (n *Node) bootstrap(fresh bool, c *raft.Config, logs raft.LogStore, stable raft.StableStore,
	snapshots raft.SnapshotStore, transport raft.Transport,
) error {
	if !fresh {
		return nil
	}
	err := raft.BootstrapCluster(c, logs, stable, snapshots, transport, raft.Configuration{Servers: []raft.Server{{
		Suffrage: raft.Voter, ID: c.LocalID, Address: raft.ServerAddress(n.id),
	}}})
	if err != nil || n.disk == nil {
		return err
	}
	return n.disk.directory.finish()
}

func (n *Node) config(t tuning) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(n.id)
	c.Logger = newRaftLogger(n.logger)
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = singleVoterTimeout, singleVoterTimeout, singleVoterTimeout
	c.MaxAppendEntries = maxBatch
	c.TrailingLogs = t.trailingEntries
	// Snapshots are taken when this package says so: raft counts entries only and
	// keeps its failures to itself.
	c.SnapshotThreshold, c.SnapshotInterval = math.MaxUint64, 24*time.Hour
	c.NoLegacyTelemetry = true
	return c
}

// ready waits until the node leads and has applied its log.
func (n *Node) ready(ctx context.Context) error {
	for {
		select {
		case leads := <-n.raft.LeaderCh():
			if !leads {
				continue
			}
		case <-ctx.Done():
			err := context.Cause(ctx)
			if cause := cmp.Or(n.err(), n.waiting()); cause != nil {
				err = fmt.Errorf("%w: %w", err, cause)
			}
			return fmt.Errorf("wait for consensus: %w", err)
		}
		err := n.Barrier(ctx)
		if failure := n.err(); failure != nil {
			return failure
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// fail notes why the node cannot go on. The first reason stays.
func (n *Node) fail(err error) {
	if n.failure.CompareAndSwap(nil, &err) {
		n.logger.Error("persistent data cannot be changed until the server is started again", slog.String("error", err.Error()))
	}
}

func (n *Node) err() error {
	if err := n.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Status is what a node knows of itself at the moment.
type Status struct {
	// Node is this node's id, Leader that of the leader, empty while there is none.
	Node, Leader string
	// State is Leader, Follower, Candidate or Shutdown.
	State string
	Term  uint64
	// LastIndex, AppliedIndex and SnapshotIndex are those of the newest log entry,
	// of the newest one the state machine has, and of the newest snapshot on disk.
	LastIndex, AppliedIndex, SnapshotIndex uint64
	// LogBytes and SnapshotBytes are sizes on disk, 0 in memory.
	LogBytes, SnapshotBytes int64
	// Waiting is why nothing can be written at the moment, a full disk for instance;
	// it is tried again until it can. It is nil otherwise, and in memory.
	Waiting error
	// Err is why this node cannot take part until it is started again: a disk that
	// failed, or a command of a newer version. It is nil for a healthy node.
	Err error
}

// Status returns the node's status; it does not wait for anything.
func (n *Node) Status() Status {
	_, leader := n.raft.LeaderWithID()
	s := Status{
		Node: n.id, Leader: string(leader), State: n.raft.State().String(),
		Term: n.raft.CurrentTerm(), LastIndex: n.raft.LastIndex(), AppliedIndex: n.raft.AppliedIndex(),
		Err: n.err(), Waiting: n.waiting(),
	}
	if n.disk != nil {
		s.LogBytes = n.disk.log.bytes.Load()
		s.SnapshotIndex, s.SnapshotBytes = n.disk.snapshots.index.Load(), n.disk.snapshots.bytes.Load()
	}
	return s
}

// waiting is why nothing can be written at the moment.
func (n *Node) waiting() error {
	if n.disk == nil {
		return nil
	}
	return n.disk.waiting()
}

// Leader returns the id of the leader, empty while there is none.
func (n *Node) Leader() string {
	_, id := n.raft.LeaderWithID()
	return string(id)
}

// Close stops the node: proposals that are under way are finished, new ones get
// [ErrUnavailable]. It returns within ten seconds, with an error when something
// hung. Closing again does nothing and returns the same.
func (n *Node) Close() error {
	n.once.Do(func() { n.result = n.close() })
	return n.result
}

func (n *Node) close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	close(n.closing)
	if n.err() == nil {
		waitFor(n.pending.Wait, drainTimeout)
	}
	stopping := n.raft.Shutdown()
	if n.disk != nil {
		n.disk.release()
	}
	var err error
	if !waitFor(func() { err = stopping.Error() }, stopTimeout) {
		return errors.New("stop consensus: raft does not stop")
	}
	n.joined.Wait()
	if n.disk != nil {
		err = errors.Join(err, n.disk.Close())
	}
	if err != nil {
		return fmt.Errorf("stop consensus: %w", err)
	}
	return nil
}

// waitFor waits for f to return. If that takes longer than it may, f goes on: it
// hangs in something that cannot be interrupted.
func waitFor(f func(), atMost time.Duration) bool {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
