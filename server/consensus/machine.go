package consensus

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// machine stands between raft and the state machine. It is a [raft.FSM].
type machine struct {
	fsm    FSM
	tuning tuning
	// grown is signalled when there is enough for a snapshot.
	grown chan struct{}
	// onHalt hears of a command that this version does not know.
	onHalt func(error)

	mu       sync.Mutex // between raft's thread and backups
	stopped  error      // a command halted it
	entries  uint64
	bytes    int
	restored atomic.Pointer[error] // why a snapshot could not be restored
}

// outcome is what a command came to.
type outcome struct {
	value any
	err   error
}

// halts says whether an error of the state machine means that it cannot go on.
func halts(err error) bool {
	var h interface{ Halts() bool }
	return errors.As(err, &h) && h.Halts()
}

// Apply implements [raft.FSM].
func (m *machine) Apply(l *raft.Log) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped != nil {
		return outcome{err: m.stopped}
	}
	value, err := m.fsm.Apply(l.Data)
	if err != nil && halts(err) {
		m.stopped = fmt.Errorf("%w: entry %d of the log cannot be applied: %w", ErrUnavailable, l.Index, err)
		m.onHalt(m.stopped)
		return outcome{err: m.stopped}
	}
	m.entries++
	m.bytes += len(l.Data)
	if m.entries >= m.tuning.snapshotEntries || m.bytes >= m.tuning.snapshotBytes {
		select {
		case m.grown <- struct{}{}:
		default:
		}
	}
	return outcome{value: value, err: err}
}

// Snapshot implements [raft.FSM]. A machine that halted gives none: the log would
// be cut behind it, and the commands it does not know would be lost.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped != nil {
		return nil, m.stopped
	}
	state, err := m.fsm.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("take a snapshot: %w", err)
	}
	m.entries, m.bytes = 0, 0
	return snapshot{state}, nil
}

// state returns the state for a backup.
func (m *machine) state() (io.WriterTo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped != nil {
		return nil, m.stopped
	}
	return m.fsm.Snapshot()
}

// Restore implements [raft.FSM].
func (m *machine) Restore(r io.ReadCloser) error {
	defer func() { _ = r.Close() }()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fsm.Restore(r); err != nil {
		m.restored.Store(&err)
		return err
	}
	m.entries, m.bytes = 0, 0
	return nil
}

// snapshot is a state on its way to the disk. It is a [raft.FSMSnapshot].
type snapshot struct{ state io.WriterTo }

// Persist implements [raft.FSMSnapshot]. Raft cancels the sink after an error and
// closes it otherwise; closing it here says whether it went well.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := s.state.WriteTo(sink); err != nil {
		return errors.Join(fmt.Errorf("write a snapshot: %w", err), sink.Cancel())
	}
	return sink.Close()
}

// Release implements [raft.FSMSnapshot].
func (snapshot) Release() {}
