package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// ownerOnly keeps addresses and metadata, which may hold secrets, from others.
const ownerOnly = 0o600

// write replaces the file as a whole: whoever reads it, after a crash too, finds
// the old one or the new one.
func (s *Snapshotter) write() (size int64, err error) {
	temp := s.path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("write snapshot: %w", err)
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownerOnly)
	if err != nil {
		return 0, fmt.Errorf("write snapshot: %w", err)
	}
	_, err = s.store.Snapshot(f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			size = info.Size()
		}
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, s.path)
	}
	if err == nil {
		err = syncDirectory(filepath.Dir(s.path))
	}
	if err != nil {
		_ = os.Remove(temp) // the next attempt would remove it too
		return 0, fmt.Errorf("write snapshot: %w", err)
	}
	return size, nil
}

// syncDirectory makes a rename last. Windows knows no such thing.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
