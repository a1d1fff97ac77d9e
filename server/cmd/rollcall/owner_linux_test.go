package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestData_OfRootBelongsToTheOwnerOfTheDirectory: an administrator works on the
// directory of the server's user, who then can open everything in it.
func TestData_OfRootBelongsToTheOwnerOfTheDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const user = 54321
	dir := t.TempDir()
	require.NoError(t, os.Chown(dir, user, user))
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, nil, 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "symbolic")))
	require.NoError(t, os.Link(outside, filepath.Join(dir, "hard")))

	code, _, stderr := execute(t, "user", "create", "alice", "--admin", "--data-dir", dir)
	require.Zero(t, code, stderr)
	owner := func(path string) uint32 {
		info, err := os.Lstat(path)
		require.NoError(t, err)
		return info.Sys().(*syscall.Stat_t).Uid
	}
	count := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		if name := filepath.Base(path); name != "symbolic" && name != "hard" {
			count++
			require.EqualValues(t, user, owner(path), path)
		}
		return nil
	}))
	require.Greater(t, count, 4)
	require.Zero(t, owner(outside))
}
