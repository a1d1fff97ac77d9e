package wholefile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// beside opens a file to be put at the path that is returned, where there is one
// already.
func beside(t *testing.T, content string) (f *os.File, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(content)
	require.NoError(t, err)
	return f, path
}

func requireFile(t *testing.T, path, content string) {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, string(got))
	all, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, all, 1, "nothing is left beside it")
}

func TestPlace_ReplacesTheWholeFile(t *testing.T) {
	f, path := beside(t, "new")
	require.NoError(t, Place(f, path, nil))
	requireFile(t, path, "new")
	require.ErrorIs(t, f.Close(), os.ErrClosed)
}

func TestPlace_AfterAnErrorTheOldFileIsThere(t *testing.T) {
	t.Run("of writing", func(t *testing.T) {
		f, path := beside(t, "ne")
		full := errors.New("the disk is full")
		require.Equal(t, full, Place(f, path, full))
		requireFile(t, path, "old")
		require.ErrorIs(t, f.Close(), os.ErrClosed)
	})
	t.Run("of syncing or closing", func(t *testing.T) {
		f, path := beside(t, "new")
		require.NoError(t, f.Close())
		require.ErrorIs(t, Place(f, path, nil), os.ErrClosed)
		requireFile(t, path, "old")
	})
	t.Run("of renaming", func(t *testing.T) {
		f, path := beside(t, "new")
		require.Error(t, Place(f, filepath.Join(path, "below a file"), nil))
		requireFile(t, path, "old")
	})
}

func TestSyncDirectory_TellsThatThereIsNone(t *testing.T) {
	require.NoError(t, SyncDirectory(t.TempDir()))
	require.ErrorIs(t, SyncDirectory(filepath.Join(t.TempDir(), "none")), os.ErrNotExist)
}
