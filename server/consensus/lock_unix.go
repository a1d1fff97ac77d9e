//go:build unix

package consensus

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the file's lock, which ends with the process at the latest.
func lockFile(f *os.File) (taken bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
