package consensus

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// made returns a closed data directory with entries, a snapshot and a log.
func made(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}, tuning: small()})
	require.NoError(t, err)
	for i := range 120 {
		propose(t, n, fmt.Sprint(i))
	}
	eventually(t, "a second snapshot", func() bool { return n.Status().SnapshotIndex > 60 })
	require.NoError(t, n.Close())
	return dir
}

func TestSB22_DirectoryIsPrivate(t *testing.T) {
	dir := made(t)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		if d.IsDir() {
			require.Equal(t, directoryMode, info.Mode().Perm(), path)
		} else {
			require.Equal(t, fileMode, info.Mode().Perm(), path)
		}
		return nil
	}))
	require.NoError(t, os.Chmod(dir, 0o755))
	open(t, Options{Dir: dir, FSM: &journal{}})
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, directoryMode, info.Mode().Perm())
}

func TestSB22_NodeRefusesADamagedDirectory(t *testing.T) {
	newest := func(pattern string) func(t *testing.T, dir string) string {
		return func(t *testing.T, dir string) string {
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			require.NoError(t, err)
			require.NotEmpty(t, paths)
			return paths[len(paths)-1]
		}
	}
	flip := func(t *testing.T, path string) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		data[len(data)/2] ^= 4
		require.NoError(t, os.WriteFile(path, data, fileMode))
	}
	remove := func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }
	for name, c := range map[string]struct {
		file   func(t *testing.T, dir string) string
		change func(t *testing.T, path string)
		want   string
	}{
		"the log":                     {newest("log/*"), flip, "damaged data in"},
		"the newest snapshot":         {newest("snapshots/*"), flip, "damaged data in"},
		"the newest snapshot is gone": {newest("snapshots/*"), func(t *testing.T, path string) {}, ""},
		"the version":                 {newest("VERSION"), flip, "damaged data in"},
		"the version is gone":         {newest("VERSION"), remove, "no VERSION file"},
		"the votes":                   {newest("votes"), flip, "damaged data in"},
		"other votes": {newest("votes"), func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, make([]byte, 16<<10), fileMode))
		}, "this is not the header of the votes"},
		"the votes are gone": {newest("votes"), remove, "damaged data in"},
		"a newer format": {newest("VERSION"), func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, bytes.Replace(data, []byte(`"format":1`), []byte(`"format":2`), 1), fileMode))
		}, "format 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := made(t)
			path := c.file(t, dir)
			c.change(t, path)
			if c.want == "" { // all snapshots: the log does not reach back
				all, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
				require.NoError(t, err)
				for _, path := range all {
					remove(t, path)
				}
				c.want = "a snapshot is missing"
			}
			_, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}, tuning: small()})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, dir)
		})
	}
}

// TestSB22_LittleDataIsData: a directory without VERSION is not a first start that
// was cut short when a single command was acknowledged in it.
func TestSB22_LittleDataIsData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}})
	require.NoError(t, err)
	propose(t, n, "a")
	require.NoError(t, n.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, "VERSION")))
	_, err = Open(t.Context(), Options{Dir: dir, FSM: &journal{}})
	require.ErrorContains(t, err, "no VERSION file")
}

// TestSB22_TheSnapshotOfARestoredBackupIsMissed: nothing in the log says that a
// backup was restored, and no entry may have followed.
func TestSB22_TheSnapshotOfARestoredBackupIsMissed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}})
	require.NoError(t, err)
	propose(t, n, "a", "b")
	var backup bytes.Buffer
	require.NoError(t, n.Backup(t.Context(), &backup))
	propose(t, n, "c")
	require.NoError(t, n.raft.Snapshot().Error())
	require.NoError(t, n.Restore(t.Context(), &backup))
	newest := n.disk.snapshots.index.Load()
	require.NoError(t, n.Close())
	paths, err := filepath.Glob(filepath.Join(dir, "snapshots", fmt.Sprintf("%020d-*", newest)))
	require.NoError(t, err)
	require.Len(t, paths, 1)
	require.NoError(t, os.Remove(paths[0]))
	_, err = Open(t.Context(), Options{Dir: dir, FSM: &journal{}})
	require.ErrorContains(t, err, "a snapshot is missing")
}

// TestSB22_FirstStartCutShort leaves what a first start has made at each of its
// steps.
func TestSB22_FirstStartCutShort(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "data")
	n, err := Open(t.Context(), Options{Dir: whole, FSM: &journal{}})
	require.NoError(t, err)
	require.NoError(t, n.Close())
	for name, leave := range map[string]func(t *testing.T, dir string){
		"nothing": func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir)) },
		"directory": func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.Mkdir(dir, 0o700))
		},
		"half a vote store": func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "log")))
			require.NoError(t, os.Rename(filepath.Join(dir, "votes"), filepath.Join(dir, "votes.tmp")))
			require.NoError(t, os.Truncate(filepath.Join(dir, "votes.tmp"), 30))
		},
		"term without log":    func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, "log"))) },
		"log without version": func(t *testing.T, dir string) {},
		"half a version": func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "VERSION.tmp"), []byte(`{"for`), fileMode))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
			require.NoError(t, os.Remove(filepath.Join(dir, "VERSION")))
			leave(t, dir)
			n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}})
			require.NoError(t, err)
			propose(t, n, "a")
			require.NoError(t, n.Close())
			j := &journal{}
			open(t, Options{Dir: dir, FSM: j})
			require.Equal(t, []string{"a"}, j.all())
		})
	}
}
