package consensus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// damageStep is how many bytes the test of damaged bytes goes on at a time, 13 by
// default; 1 takes minutes.
const damageStep = "ROLLCALL_TEST_DAMAGE_STEP"

// TestSB22_AnyByteOfAnyFile flips a byte somewhere in a data directory: the node
// has everything, or refuses to start and says which file it is about.
func TestSB22_AnyByteOfAnyFile(t *testing.T) {
	t.Parallel()
	step, err := strconv.Atoi(os.Getenv(damageStep))
	if err != nil {
		step = 13
	}
	whole := filepath.Join(t.TempDir(), "data")
	n, err := Open(t.Context(), Options{Dir: whole, FSM: &journal{}})
	require.NoError(t, err)
	propose(t, n, "one", "two")
	require.NoError(t, n.raft.Snapshot().Error())
	propose(t, n, "three", "four")
	require.NoError(t, n.Close())
	want := []string{"one", "two", "three", "four"}

	dir := filepath.Join(t.TempDir(), "data")
	var opened, refused int
	require.NoError(t, filepath.WalkDir(whole, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" {
			return err
		}
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		relative, err := filepath.Rel(whole, path)
		require.NoError(t, err)
		for at := 0; at < len(content); at += step {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
			damaged := bytes.Clone(content)
			damaged[at] ^= 1 << (at % 8)
			require.NoError(t, os.WriteFile(filepath.Join(dir, relative), damaged, fileMode))
			j := &journal{}
			n, err := Open(context.Background(), Options{Dir: dir, FSM: j})
			what := fmt.Sprintf("byte %d of %s", at, relative)
			if err == nil {
				opened++
				require.Equal(t, want, j.all(), what)
				require.NoError(t, n.Close())
				continue
			}
			refused++
			require.ErrorContains(t, err, dir, what)
			var damage *DamageError
			if errors.As(err, &damage) {
				require.Equal(t, filepath.Join(dir, relative), damage.File, what)
				require.LessOrEqual(t, damage.Offset, int64(at), what)
			}
		}
		return nil
	}))
	t.Logf("%d refused, %d harmless", refused, opened)
	require.Greater(t, refused, opened)
}

// TestSB22_TheNewestFileCutShort cuts 1 to 50 bytes off the newest log file of a
// node that was stopped: at most the last command is gone, what comes later is
// there after another start, and the log says what happened. More than that is
// missed, wherever the cut is.
func TestSB22_TheNewestFileCutShort(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "data")
	n, err := Open(t.Context(), Options{Dir: whole, FSM: &journal{}})
	require.NoError(t, err)
	propose(t, n, "one", "two", "three")
	require.NoError(t, n.Close())
	for cut := int64(1); cut <= 50; cut += 7 {
		dir := filepath.Join(t.TempDir(), "data")
		require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
		newest := segmentPath(filepath.Join(dir, "log"), 1)
		info, err := os.Stat(newest)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(newest, info.Size()-cut))
		var text logged
		n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}, Logger: text.logger()})
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(text.String(), "its last entry was acknowledged and is lost"), text.String())
		propose(t, n, "a", "b", "c", "d", "e")
		require.NoError(t, n.Close())
		j := &journal{}
		n, err = Open(t.Context(), Options{Dir: dir, FSM: j})
		require.NoError(t, err)
		require.NoError(t, n.Close())
		require.Equal(t, []string{"one", "two", "a", "b", "c", "d", "e"}, j.all(), "%d bytes cut", cut)
	}
	content, err := os.ReadFile(segmentPath(filepath.Join(whole, "log"), 1))
	require.NoError(t, err)
	offsets, _, _, _ := scan(content, segmentHeader, 1)
	last := len(offsets) - 1
	for _, size := range []int64{segmentHeader, offsets[last-1], offsets[last-1] + 1, offsets[last] - 1} {
		dir := filepath.Join(t.TempDir(), "data")
		require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
		newest := segmentPath(filepath.Join(dir, "log"), 1)
		require.NoError(t, os.Truncate(newest, size))
		for range 2 {
			_, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}})
			var damage *DamageError
			require.ErrorAs(t, err, &damage, "cut to %d bytes", size)
			require.Equal(t, newest, damage.File)
			require.LessOrEqual(t, damage.Offset, size)
		}
	}
}
