// Package wholefile puts files in the place of others as a whole: whoever reads
// one, after a crash too, finds the old content or the new one.
//
// Here belongs the end of writing, which is the same for everybody. Here does not
// belong how the file beside is named and opened: who may find it there is for each
// to know.
package wholefile

import (
	"fmt"
	"os"
	"runtime"
)

// Place ends the writing of a file beside path, which went well unless err says
// otherwise: the file is synced, closed and renamed to path. The first error is
// returned as it is; the file beside is then removed and what is at path is as it
// was. A crash may undo the renaming until [SyncDirectory] has returned.
func Place(beside *os.File, path string, err error) error {
	if err == nil {
		err = beside.Sync()
	}
	if closed := beside.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(beside.Name(), path)
	}
	if err != nil {
		_ = os.Remove(beside.Name()) // what it would tell is less than err
	}
	return err
}

// SyncDirectory makes the names in a directory last. Windows does so by itself.
func SyncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync a directory: %w", err)
	}
	defer func() { _ = dir.Close() }() // it was only read
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("sync a directory: %w", err)
	}
	return nil
}
