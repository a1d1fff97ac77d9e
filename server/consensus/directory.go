package consensus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-go/rollcall/internal/wholefile"
)

// format is the version of the data directory that this code writes and reads.
const format = 1

// ErrDirectoryInUse says that another process has the data directory open.
var ErrDirectoryInUse = errors.New("the data directory is in use by another process")

// directory is an open data directory.
type directory struct {
	path string
	lock *os.File
	// node is the node's id: random, made with the directory, so that an emptied
	// directory is a new node.
	node string
	// fresh says that VERSION was not there: the first start, or one that was cut
	// short. The directory holds nothing that was acknowledged.
	fresh bool
}

// version is the content of VERSION.
type version struct {
	Format int    `json:"format"`
	Node   string `json:"node"`
	// Sum is the checksum of the node's id: a damaged one would be nobody's.
	Sum uint32 `json:"crc32c"`
}

func (d *directory) versionFile() string { return filepath.Join(d.path, "VERSION") }
func (d *directory) stableFile() string  { return filepath.Join(d.path, "votes") }
func (d *directory) logs() string        { return filepath.Join(d.path, "log") }
func (d *directory) snapshots() string   { return filepath.Join(d.path, "snapshots") }

// openDirectory takes a data directory for this process and reads its version.
func openDirectory(path string, logger *slog.Logger) (*directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the data directory: %w", err)
	}
	d := &directory{path: path}
	if err := makeDirectory(path); err != nil {
		return nil, err
	}
	if err := d.tighten(logger); err != nil {
		return nil, err
	}
	if err := d.take(); err != nil {
		return nil, err
	}
	if err := d.read(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	for _, sub := range []string{d.logs(), d.snapshots()} {
		if err := makeDirectory(sub); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// tighten takes the directory from everyone else. Where it is not ours to change
// (a mounted volume, for instance), that is said and accepted.
func (d *directory) tighten(logger *slog.Logger) error {
	info, err := os.Stat(d.path)
	if err != nil {
		return fmt.Errorf("look at the data directory: %w", err)
	}
	if info.Mode().Perm()&^directoryMode == 0 {
		return nil
	}
	if err := os.Chmod(d.path, directoryMode); err != nil {
		logger.Warn("others can read the data directory, and its mode cannot be changed",
			slog.String("directory", d.path), slog.String("mode", info.Mode().Perm().String()))
	}
	return nil
}

// take locks the directory.
func (d *directory) take() error {
	path := filepath.Join(d.path, "LOCK")
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return fmt.Errorf("lock the data directory: %w", err)
	}
	taken, err := lockFile(lock)
	if err == nil && taken {
		// The text is for people; the lock is the file's, not its content.
		err = errors.Join(lock.Truncate(0), writeString(lock, fmt.Sprintf("process %d\n", os.Getpid())))
	}
	if err == nil && taken {
		d.lock = lock
		return nil
	}
	_ = lock.Close()
	if err != nil {
		return fmt.Errorf("lock the data directory: %w", err)
	}
	owner, _ := os.ReadFile(path)
	return fmt.Errorf("%w: %s (%s)", ErrDirectoryInUse, d.path, strings.TrimSpace(string(owner)))
}

func writeString(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

// read reads VERSION. Without it the directory is new, or its first start was
// cut short, and then there is at most what a first start writes.
func (d *directory) read() error {
	data, err := os.ReadFile(d.versionFile())
	if errors.Is(err, fs.ErrNotExist) {
		d.fresh, d.node = true, uuid.NewString()
		return d.empty()
	}
	if err != nil {
		return fmt.Errorf("read the version of the data directory: %w", err)
	}
	var v version
	if err := json.Unmarshal(data, &v); err != nil {
		return &DamageError{File: d.versionFile(), Reason: "this is not a version"}
	}
	if v.Format != format {
		return fmt.Errorf("the data directory %s has format %d; this version of the server reads format %d", d.path, v.Format, format)
	}
	if v.Node == "" || v.Sum != checksum([]byte(v.Node)) {
		return &DamageError{File: d.versionFile(), Reason: "the node's id does not match its checksum"}
	}
	d.node = v.Node
	return nil
}

// empty removes what a first start that was cut short left. If there is more than
// a first start writes, nothing is touched: then it was VERSION that got lost.
func (d *directory) empty() error {
	snapshots, _ := filepath.Glob(filepath.Join(d.snapshots(), "*"+snapshotSuffix))
	segments, _ := filepath.Glob(filepath.Join(d.logs(), "*"+segmentSuffix))
	used := len(snapshots) > 0
	for _, path := range segments {
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("look at the log: %w", err)
		}
		used = used || path != segmentPath(d.logs(), 1) || holdsCommand(data)
	}
	if used {
		return fmt.Errorf("the data directory %s has data and no VERSION file: restore the file, or use another directory", d.path)
	}
	for _, path := range []string{d.stableFile(), d.stableFile() + unfinished, d.versionFile() + unfinished, d.logs(), d.snapshots()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("clean a first start that was cut short: %w", err)
		}
	}
	return nil
}

// finish ends the first start: from now on the directory counts.
func (d *directory) finish() error {
	data, err := json.Marshal(version{Format: format, Node: d.node, Sum: checksum([]byte(d.node))})
	if err != nil {
		return fmt.Errorf("write the version of the data directory: %w", err)
	}
	if err := wholefile.SyncDirectory(d.path); err != nil { // the names of the others come first
		return err
	}
	return replaceFile(d.versionFile(), append(data, '\n'))
}

// Close gives the directory back.
func (d *directory) Close() error { return d.lock.Close() }
