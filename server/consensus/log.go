package consensus

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/time/rate"
)

// writePause is how long a write that failed is held before raft hears of it.
const writePause = 500 * time.Millisecond

// warningInterval is between two messages about writes that fail.
const warningInterval = 30 * time.Second

// segmentBytes is the size after which a new segment is begun.
const segmentBytes = 4 << 20

// logStore is raft's log in segments. It is a [raft.LogStore] without gaps
// ([raft.MonotonicLogStore]).
type logStore struct {
	dir      string
	rotateAt int64
	metrics  *metrics
	logger   *slog.Logger
	warnings rate.Sometimes
	bytes    atomic.Int64
	closing  chan struct{}
	// waiting is why the last write failed, nil when it did not.
	waiting atomic.Pointer[error]
	// onFailure hears of the error after which nothing is written any more.
	onFailure func(error)
	// covered is the index of the newest snapshot.
	covered func() uint64
	disk    *operations

	writing sync.Mutex // held by whoever changes the files; taken before mu
	buffer  []byte
	failed  error

	mu       sync.RWMutex // guards what follows
	segments []*segment   // consecutive; only the last one is written to
	first    uint64       // entries before it were deleted, though a file may still have them
}

// openLog reads the log in dir, which [createList] made. covered tells the index
// of the newest snapshot.
func openLog(dir string, m *metrics, logger *slog.Logger, covered func() uint64, onFailure func(error)) (*logStore, error) {
	l := &logStore{
		dir: dir, rotateAt: segmentBytes, metrics: m, logger: logger, closing: make(chan struct{}), onFailure: onFailure,
		warnings: rate.Sometimes{Interval: warningInterval}, covered: covered, disk: newOperations(),
	}
	if err := l.load(); err != nil {
		return nil, errors.Join(err, l.closeFiles())
	}
	return l, nil
}

// release ends the wait of a write that failed. It is called once, before Close.
func (l *logStore) release() { close(l.closing) }

// Close notes how far the log reaches and closes the files. Nothing can be written
// afterwards.
func (l *logStore) Close() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil && len(l.segments) > 0 {
		if err := l.writeList(l.first, l.last(), l.segments); err != nil {
			l.logger.Warn("how far the log reaches could not be noted; nothing is lost by that", slog.String("error", err.Error()))
		}
	}
	l.failed = errors.New("the log is closed")
	return l.closeFiles()
}

func (l *logStore) closeFiles() error {
	var all []error
	for _, s := range l.segments {
		all = append(all, s.file.Close())
	}
	l.segments = nil
	return errors.Join(all...)
}

// IsMonotonic implements [raft.MonotonicLogStore].
func (l *logStore) IsMonotonic() bool { return true }

// FirstIndex implements [raft.LogStore].
func (l *logStore) FirstIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.last() < l.first {
		return 0, nil
	}
	return l.first, nil
}

// LastIndex implements [raft.LogStore].
func (l *logStore) LastIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.last() < l.first {
		return 0, nil
	}
	return l.last(), nil
}

// last is the index of the last entry, below first if there is none.
func (l *logStore) last() uint64 {
	if len(l.segments) == 0 {
		return 0
	}
	return l.segments[len(l.segments)-1].last()
}

// GetLog implements [raft.LogStore]. The checksum is checked again.
func (l *logStore) GetLog(index uint64, entry *raft.Log) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if index < l.first || index > l.last() || len(l.segments) == 0 {
		return raft.ErrLogNotFound
	}
	i, found := slices.BinarySearchFunc(l.segments, index, func(s *segment, index uint64) int {
		switch {
		case s.first > index:
			return 1
		case s.last() < index:
			return -1
		}
		return 0
	})
	if !found {
		return raft.ErrLogNotFound
	}
	s := l.segments[i]
	n := int(index - s.first)
	data := make([]byte, s.end(n)-s.offsets[n])
	if _, err := s.file.ReadAt(data, s.offsets[n]); err != nil {
		return fmt.Errorf("read entry %d: %w", index, err)
	}
	h, payload, ok := readRecord(data)
	if !ok || h.index != index {
		return &DamageError{File: s.path, Offset: s.offsets[n], Reason: fmt.Sprintf("entry %d does not match its checksum", index)}
	}
	if err := decodePayload(index, payload, entry); err != nil {
		return &DamageError{File: s.path, Offset: s.offsets[n], Reason: err.Error()}
	}
	return nil
}

// StoreLog implements [raft.LogStore].
func (l *logStore) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs implements [raft.LogStore]: one write and one sync, after which the
// entries are there.
func (l *logStore) StoreLogs(entries []*raft.Log) error {
	if len(entries) == 0 {
		return nil
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.failed != nil {
		return l.hold(l.failed)
	}
	s, err := l.writable(entries[0].Index)
	switch {
	case err != nil && l.failed != nil:
		return err
	case err != nil:
		return l.hold(err)
	}
	buffer := l.buffer[:0]
	offsets := make([]int64, len(entries))
	for i, e := range entries {
		if e.Index != entries[0].Index+uint64(i) {
			return fmt.Errorf("entry %d does not follow entry %d", e.Index, entries[0].Index+uint64(i)-1)
		}
		offsets[i] = s.size + int64(len(buffer))
		buffer = appendRecord(buffer, e, entries[0].Index)
	}
	if cap(buffer) <= segmentBytes {
		l.buffer = buffer
	}
	if err := l.disk.writeAt(s.file, buffer, s.size); err != nil {
		err = fmt.Errorf("write the log: %w", pathless(err))
		if undo := l.disk.truncate(s.file, s.size); undo != nil {
			return l.fail(errors.Join(err, undo))
		}
		return l.hold(err)
	}
	begun := time.Now()
	if err := l.disk.sync(s.file); err != nil {
		// What the disk has now is unknown, and a second sync would not tell: the
		// kernel may have dropped the pages it could not write.
		return l.fail(fmt.Errorf("sync the log: %w", pathless(err)))
	}
	l.waiting.Store(nil)
	l.metrics.fsync.Observe(time.Since(begun).Seconds())
	l.bytes.Add(int64(len(buffer)))
	l.mu.Lock()
	defer l.mu.Unlock()
	s.offsets = append(s.offsets, offsets...)
	s.size += int64(len(buffer))
	return nil
}

// writable returns the segment that takes the entry.
func (l *logStore) writable(index uint64) (*segment, error) {
	var s *segment
	if n := len(l.segments); n > 0 {
		s = l.segments[n-1]
		switch {
		case s.last()+1 != index:
			return nil, fmt.Errorf("entry %d does not follow entry %d", index, s.last())
		case s.first == index || s.size < l.rotateAt:
			return s, nil
		}
	}
	first := l.first
	if len(l.segments) == 0 {
		first = index
	}
	fresh, err := l.createSegment(index)
	if err != nil {
		return nil, err
	}
	if err := l.writeList(first, index-1, append(slices.Clone(l.segments), fresh)); err != nil {
		return nil, errors.Join(err, fresh.file.Close())
	}
	l.bytes.Add(fresh.size)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = first
	l.segments = append(l.segments, fresh)
	return fresh, nil
}

// hold delays an error: raft steps down, stands for election again and is back
// at once, and a full disk stays full for a while.
func (l *logStore) hold(err error) error {
	l.waiting.Store(&err)
	l.warnings.Do(func() {
		l.logger.Warn("the log cannot be written; persistent data cannot be changed until it can",
			slog.String("directory", l.dir), slog.String("error", err.Error()))
	})
	pause := time.NewTimer(writePause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-l.closing:
	}
	return err
}

// fail ends all writing.
func (l *logStore) fail(err error) error {
	l.failed = err
	l.onFailure(err)
	return err
}
