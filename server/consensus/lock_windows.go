package consensus

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the file's lock, which ends with the process at the latest. The
// byte that is locked lies behind the text, which others may read.
func lockFile(f *os.File) (taken bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
