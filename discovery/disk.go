package discovery

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/rollcall-go/rollcall/internal/wholefile"
	"github.com/rollcall-go/rollcall/registry"
)

const (
	dirMode = 0o700
	// maxFileSize is more than any list; a larger file is no list.
	maxFileSize = 64 << 20
)

// savedList is a list of the disk.
type savedList struct {
	instances []registry.Instance
	// at is when it was last confirmed.
	at time.Time
}

// disk keeps the lists in files, one a service. A file is replaced as a whole and
// only when the list changed; that the list was confirmed since shows in the time
// of the file. One goroutine writes.
type disk struct {
	dir, namespace string
	touchEvery     time.Duration
	logger         *slog.Logger
	count          func(outcome string)
	changes        *follower
	// sums are the checksums of the files as far as they are known. It belongs to
	// the goroutine that writes.
	sums map[registry.ServiceID]string
}

func newDisk(o Options, count func(outcome string)) *disk {
	d := &disk{
		dir: o.Disk.Dir, namespace: o.Namespace, touchEvery: o.Disk.MaxAge / 4, logger: o.Logger,
		count: count, sums: make(map[registry.ServiceID]string),
	}
	d.changes = newFollower(d.save, true)
	d.sweep(time.Now())
	return d
}

func (d *disk) path(id registry.ServiceID) string {
	return filepath.Join(d.dir, fileName(d.namespace, id))
}

// saved returns the list of the disk if it may be used; nil when there is none.
func (c *Client) saved(id registry.ServiceID) *savedList {
	if c.disk == nil || !c.opt.Disk.LoadAtStart {
		return nil
	}
	l, _ := c.disk.load(id)
	if l == nil || len(l.instances) == 0 {
		return nil
	}
	if c.opt.FailureTolerance.Disabled && time.Since(l.at) > c.opt.Disk.MaxAge {
		return nil
	}
	return l
}

// load reads the file of a service; nil when there is none of use. A corrupt one
// is set aside.
func (d *disk) load(id registry.ServiceID) (l *savedList, checksum string) {
	path := d.path(id)
	text, at, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err == nil {
		var found registry.ServiceID
		l = &savedList{at: at}
		if found, l.instances, checksum, err = decodeList(text, false); err == nil && found == id {
			return l, checksum
		}
	}
	switch {
	case err == nil:
		d.logger.Warn("a file holds the list of another service", slog.String("file", path))
	case errors.Is(err, errFormat), errors.As(err, new(*fs.PathError)):
		d.logger.Warn("a list cannot be read", slog.String("file", path), slog.Any("error", err))
	default:
		d.count(diskCorrupt)
		aside := os.Rename(path, path+corruptSuffix)
		d.logger.Warn("a corrupt list is set aside", slog.String("file", path), slog.Any("error", errors.Join(err, aside)))
	}
	return nil, ""
}

func readFile(path string) (text []byte, at time.Time, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, at, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, at, err
	}
	text, err = io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if len(text) > maxFileSize {
		err = errors.New("is larger than any list")
	}
	return text, info.ModTime(), err
}

// save brings the file of an entry up to date.
func (d *disk) save(ctx context.Context, e *entry) {
	e.mu.Lock()
	s := e.known
	e.mu.Unlock()
	if s == nil || s.Origin == OriginDisk {
		return
	}
	if err := d.write(s); err != nil {
		d.count(diskFailed)
		if ctx.Err() == nil {
			d.logger.Warn("a list could not be saved", slog.String("service", s.Service.String()), slog.Any("error", err))
		}
	}
}

func (d *disk) write(s *Snapshot) error {
	path := d.path(s.Service)
	if len(s.Instances) == 0 {
		// A list without instances is of no use later, and an old one even less.
		delete(d.sums, s.Service)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, checksum, err := encodeList(s.Service, s.Instances)
	if err != nil {
		return err
	}
	known, ok := d.sums[s.Service]
	if !ok {
		_, known = d.load(s.Service)
	}
	if known != checksum {
		if err := replaceFile(path, text); err != nil {
			return err
		}
		d.count(diskWritten)
	}
	d.sums[s.Service] = checksum
	err = os.Chtimes(path, s.FetchedAt, s.FetchedAt)
	if errors.Is(err, fs.ErrNotExist) {
		delete(d.sums, s.Service) // somebody cleaned up; the next change writes it
		return nil
	}
	return err
}

// replaceFile puts a whole file in the place of another: whoever reads it, and
// whoever finds it after a crash, has the old one or the new one (client rule
// C-R2).
func replaceFile(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, leftover) // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := wholefile.Place(f, path, err); err != nil {
		return err
	}
	// Not every system can sync a folder; there the file system sees to it.
	_ = wholefile.SyncDirectory(dir)
	return nil
}
