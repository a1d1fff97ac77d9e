package consensus

import (
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

const (
	snapshotSuffix = ".snap"
	// keptSnapshots stay: the newest, and the one before for an operator whose
	// disk damaged it.
	keptSnapshots = 2
)

// snapshotStore keeps snapshots as files. It is a [raft.SnapshotStore] that shows
// raft the newest one only: raft would fall back to an older one by itself, and
// silently lose what is between them.
type snapshotStore struct {
	dir    string
	logger *slog.Logger
	// Of the newest snapshot.
	index atomic.Uint64
	bytes atomic.Int64
}

// openSnapshots checks the newest snapshot to its end and returns its
// description, nil if there is none.
func openSnapshots(dir string, logger *slog.Logger) (*snapshotStore, *raft.SnapshotMeta, error) {
	s := &snapshotStore{dir: dir, logger: logger}
	if err := removeUnfinished(dir); err != nil {
		return nil, nil, err
	}
	all, err := s.List()
	if err != nil || len(all) == 0 {
		return s, nil, err
	}
	meta, r, err := s.Open(all[0].ID)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = r.Close() }()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(s.path(meta.ID))
	if err != nil {
		return nil, nil, fmt.Errorf("look at a snapshot: %w", err)
	}
	s.index.Store(meta.Index)
	s.bytes.Store(info.Size())
	return s, meta, nil
}

func (s *snapshotStore) path(id string) string { return filepath.Join(s.dir, id+snapshotSuffix) }

// files returns the paths of all snapshots, newest first.
func (s *snapshotStore) files() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(s.dir, "*"+snapshotSuffix))
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	slices.Sort(paths)
	slices.Reverse(paths)
	return paths, nil
}

// List implements [raft.SnapshotStore].
func (s *snapshotStore) List() ([]*raft.SnapshotMeta, error) {
	paths, err := s.files()
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	id := filepath.Base(paths[0])
	meta, r, err := s.Open(id[:len(id)-len(snapshotSuffix)])
	if err != nil {
		return nil, err
	}
	return []*raft.SnapshotMeta{meta}, r.Close()
}

// Open implements [raft.SnapshotStore]. Reading on fails where the file is
// damaged.
func (s *snapshotStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	path := s.path(id)
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open a snapshot: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("open a snapshot: %w", err)
	}
	c, err := openContainer(f, path)
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	if c.meta.ID != id {
		_ = f.Close()
		return nil, nil, c.damage("this is another snapshot than the name says")
	}
	meta := c.meta
	meta.Size = contentSize(info, c.offset)
	return &meta, struct {
		io.Reader
		io.Closer
	}{c, f}, nil
}

// contentSize is how much data a container has whose description ends at offset.
func contentSize(info fs.FileInfo, offset int64) int64 {
	framed := info.Size() - offset - 16 // the end
	chunks := (framed + chunkBytes + 7) / (chunkBytes + 8)
	return max(0, framed-8*chunks)
}

// Create implements [raft.SnapshotStore].
func (s *snapshotStore) Create(v raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	id := fmt.Sprintf("%020d-%020d", index, term)
	f, err := os.OpenFile(s.path(id)+unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return nil, fmt.Errorf("create a snapshot: %w", err)
	}
	c, err := newContainer(f, raft.SnapshotMeta{
		Version: v, ID: id, Index: index, Term: term,
		Configuration: configuration, ConfigurationIndex: configurationIndex,
	})
	if err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
		return nil, err
	}
	return &snapshotSink{containerWriter: c, store: s, file: f, id: id, index: index}, nil
}

// snapshotSink is a snapshot that is being written.
type snapshotSink struct {
	*containerWriter
	store *snapshotStore
	file  *os.File
	id    string
	index uint64
	ended bool
}

// ID implements [raft.SnapshotSink].
func (k *snapshotSink) ID() string { return k.id }

// Close implements [raft.SnapshotSink]: the snapshot is there, or an error.
func (k *snapshotSink) Close() error {
	if k.ended {
		return nil
	}
	k.ended = true
	err := k.containerWriter.Close()
	var size int64
	if info, statErr := k.file.Stat(); statErr == nil {
		size = info.Size()
	}
	if err := finishFile(k.file, k.store.path(k.id), err); err != nil {
		return err
	}
	k.store.index.Store(k.index)
	k.store.bytes.Store(size)
	k.store.prune()
	return nil
}

// Cancel implements [raft.SnapshotSink].
func (k *snapshotSink) Cancel() error {
	if k.ended {
		return nil
	}
	k.ended = true
	_ = k.file.Close()
	if err := os.Remove(k.file.Name()); err != nil {
		return fmt.Errorf("remove an unfinished snapshot: %w", err)
	}
	return nil
}

// prune deletes old snapshots. One that stays costs room and nothing else.
func (s *snapshotStore) prune() {
	paths, err := s.files()
	if err != nil || len(paths) <= keptSnapshots {
		return
	}
	for _, path := range paths[keptSnapshots:] {
		if err := os.Remove(path); err != nil {
			s.logger.Warn("an old snapshot cannot be removed", slog.String("file", path), slog.String("error", err.Error()))
		}
	}
}
