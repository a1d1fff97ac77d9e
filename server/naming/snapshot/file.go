package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rollcall-go/rollcall/internal/wholefile"
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
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			size = info.Size()
		}
	}
	err = wholefile.Place(f, s.path, err)
	if err == nil {
		err = wholefile.SyncDirectory(filepath.Dir(s.path))
	}
	if err != nil {
		return 0, fmt.Errorf("write snapshot: %w", err)
	}
	return size, nil
}
