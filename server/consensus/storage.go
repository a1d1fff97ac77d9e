package consensus

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/hashicorp/raft"
)

// storage is all that a node has on disk.
type storage struct {
	directory *directory
	stable    *stableStore
	log       *logStore
	snapshots *snapshotStore
}

// openStorage takes the data directory and checks everything in it.
func openStorage(o Options, m *metrics, onFailure func(error)) (*storage, error) {
	d, err := openDirectory(o.Dir, o.Logger)
	if err != nil {
		return nil, err
	}
	s := &storage{directory: d}
	if err := s.open(o, m, onFailure); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *storage) open(o Options, m *metrics, onFailure func(error)) (err error) {
	d := s.directory
	if d.fresh {
		if err := errors.Join(createStable(d.stableFile()), createList(d.logs())); err != nil {
			return err
		}
	}
	if s.stable, err = openStable(d.stableFile(), o.Logger, onFailure); err != nil {
		return err
	}
	var newest *raft.SnapshotMeta
	if s.snapshots, newest, err = openSnapshots(d.snapshots(), o.Logger); err != nil {
		return err
	}
	if s.log, err = openLog(d.logs(), m, o.Logger, s.snapshots.index.Load, onFailure); err != nil {
		return err
	}
	s.log.rotateAt = o.tuning.segmentBytes
	if d.fresh {
		return nil
	}
	return s.fit(newest, o.Logger)
}

// fit compares log and snapshot: together they must have every entry.
func (s *storage) fit(newest *raft.SnapshotMeta, logger *slog.Logger) error {
	var index uint64
	if newest != nil {
		index = newest.Index
	}
	last := s.log.last()
	switch {
	case s.log.first > index+1:
		return &DamageError{File: s.directory.snapshots(), Reason: fmt.Sprintf(
			"a snapshot is missing: the log begins with entry %d, and the newest snapshot ends with entry %d", s.log.first, index)}
	case last == 0 && newest == nil:
		return &DamageError{File: s.directory.logs(), Reason: "the log is empty, and there is no snapshot"}
	case last < index && last > 0:
		// A restored backup jumps ahead of the log, which a crash kept from being
		// removed; a tail that was cut may end before the snapshot, too.
		logger.Info("the log ends before the newest snapshot and is removed",
			slog.Uint64("last", last), slog.Uint64("snapshot", index))
		return s.log.clear()
	}
	return nil
}

// waiting is why nothing can be written at the moment, nil when something can. It
// is tried again.
func (s *storage) waiting() error {
	for _, err := range []*error{s.stable.waiting.Load(), s.log.waiting.Load()} {
		if err != nil {
			return *err
		}
	}
	return nil
}

// release ends waits in the storage; raft was told to stop.
func (s *storage) release() {
	s.stable.release()
	s.log.release()
}

// Close closes what was opened.
func (s *storage) Close() error {
	var all []error
	if s.log != nil {
		all = append(all, s.log.Close())
	}
	return errors.Join(append(all, s.directory.Close())...)
}
