package consensus

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func openTestLog(t require.TestingT, dir string) *logStore {
	if _, err := os.Stat(filepath.Join(dir, listName)); err != nil {
		require.NoError(t, createList(dir))
	}
	l, err := reopenLog(dir)
	require.NoError(t, err)
	return l
}

// killLog ends a log as a kill does: nothing is noted.
func killLog(t require.TestingT, l *logStore) {
	l.release()
	require.NoError(t, l.closeFiles())
}

func reopenLog(dir string) (*logStore, error) {
	return openLog(dir, newMetrics(), slog.New(slog.DiscardHandler), func() uint64 { return 0 }, func(error) {})
}

func closeLog(t require.TestingT, l *logStore) {
	l.release()
	require.NoError(t, l.Close())
}

func entry(index uint64, data string) *raft.Log {
	return &raft.Log{
		Index: index, Term: 3, Type: raft.LogCommand, Data: []byte(data),
		Extensions: []byte("x"), AppendedAt: time.Unix(1700000000, 42),
	}
}

// filled makes a log of batches of three entries in small segments and returns
// the paths of its files.
func filled(t testing.TB, dir string, batches int) []string {
	t.Helper()
	l := openTestLog(t, dir)
	l.rotateAt = 600
	for b := range batches {
		first := uint64(3*b + 1)
		require.NoError(t, l.StoreLogs([]*raft.Log{
			entry(first, fmt.Sprint("one of ", b)), entry(first+1, fmt.Sprint("two of ", b)), entry(first+2, fmt.Sprint("three of ", b)),
		}))
	}
	killLog(t, l)
	paths, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	require.NoError(t, err)
	return paths
}

func indexes(t require.TestingT, l *logStore) (first, last uint64) {
	first, err := l.FirstIndex()
	require.NoError(t, err)
	last, err = l.LastIndex()
	require.NoError(t, err)
	return first, last
}

func TestLog_KeepsEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.Greater(t, len(filled(t, dir, 20)), 3)
	l := openTestLog(t, dir)
	defer closeLog(t, l)
	first, last := indexes(t, l)
	require.Equal(t, []uint64{1, 60}, []uint64{first, last})
	for i := first; i <= last; i++ {
		var got raft.Log
		require.NoError(t, l.GetLog(i, &got))
		words := []string{"three", "one", "two"}
		require.Equal(t, *entry(i, fmt.Sprintf("%s of %d", words[i%3], (i-1)/3)), got)
	}
	require.ErrorIs(t, l.GetLog(0, &raft.Log{}), raft.ErrLogNotFound)
	require.ErrorIs(t, l.GetLog(61, &raft.Log{}), raft.ErrLogNotFound)
	require.Error(t, l.StoreLog(entry(62, "a gap")))
	require.Error(t, l.StoreLogs([]*raft.Log{entry(61, ""), entry(63, "")}))
	require.Error(t, l.DeleteRange(20, 30), "in the middle")
}

// TestLog_Model compares the log with a map, across restarts.
func TestLog_Model(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(rt, err)
		l := openTestLog(rt, dir)
		l.rotateAt = 300
		model := map[uint64]string{}
		next := uint64(rapid.IntRange(1, 1000).Draw(rt, "start"))
		first := next
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				var batch []*raft.Log
				for _, data := range rapid.SliceOfN(rapid.StringN(0, 40, 40), 1, 5).Draw(rt, "batch") {
					batch = append(batch, entry(next, data))
					model[next] = data
					next++
				}
				require.NoError(rt, l.StoreLogs(batch))
			},
			"front": func(rt *rapid.T) {
				to := rapid.Uint64Range(first, max(first, next)).Draw(rt, "to")
				require.NoError(rt, l.DeleteRange(first, to))
				for ; first <= to; first++ {
					delete(model, first)
				}
				next = max(next, first)
				first = min(first, next)
			},
			"back": func(rt *rapid.T) {
				if first+1 >= next {
					return
				}
				from := rapid.Uint64Range(first+1, next-1).Draw(rt, "from")
				require.NoError(rt, l.DeleteRange(from, next-1))
				for ; next > from; next-- {
					delete(model, next-1)
				}
			},
			"restart": func(rt *rapid.T) {
				closeLog(rt, l)
				l = openTestLog(rt, dir)
				l.rotateAt = 300
				// A restart brings back what shares a file with entries that stay.
				if len(model) > 0 {
					back, _ := indexes(rt, l)
					require.LessOrEqual(rt, back, first)
					require.NoError(rt, l.DeleteRange(back, first-1))
				}
			},
			"": func(rt *rapid.T) {
				gotFirst, gotLast := indexes(rt, l)
				if len(model) == 0 {
					require.Zero(rt, gotFirst+gotLast)
					return
				}
				require.Equal(rt, []uint64{first, next - 1}, []uint64{gotFirst, gotLast})
				for i, data := range model {
					var got raft.Log
					require.NoError(rt, l.GetLog(i, &got))
					require.Equal(rt, data, string(got.Data))
				}
				var onDisk int64
				for _, s := range l.segments {
					info, err := s.file.Stat()
					require.NoError(rt, err)
					require.Equal(rt, s.size, info.Size())
					onDisk += info.Size()
				}
				require.Equal(rt, onDisk, l.bytes.Load())
			},
		})
		closeLog(rt, l)
	})
}

// TestSB22_TornTailIsCut cuts every number of bytes off the newest file that a
// crash could have kept from the disk.
func TestSB22_TornTailIsCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := filled(t, dir, 10)
	newest := paths[len(paths)-1]
	whole, err := os.ReadFile(newest)
	require.NoError(t, err)
	for cut := 1; cut <= len(whole)-segmentHeader; cut++ {
		require.NoError(t, os.WriteFile(newest, whole[:len(whole)-cut], fileMode))
		var text logged
		l, err := openLog(dir, newMetrics(), text.logger(), func() uint64 { return 0 }, func(error) {})
		require.NoError(t, err, "%d bytes cut", cut)
		_, last := indexes(t, l)
		require.Less(t, last, uint64(30), "%d bytes cut", cut)
		if boundary := l.segments[len(l.segments)-1].size == int64(len(whole)-cut); !boundary {
			require.Contains(t, text.String(), "half written")
			require.Contains(t, text.String(), newest)
		}
		require.NoError(t, l.StoreLog(entry(last+1, "after")))
		killLog(t, l)
		l = openTestLog(t, dir)
		var got raft.Log
		require.NoError(t, l.GetLog(last+1, &got))
		require.Equal(t, "after", string(got.Data))
		killLog(t, l)
		require.NoError(t, os.WriteFile(newest, whole, fileMode))
	}
}

// TestSB22_DamageRefusesTheStart flips every byte of every file in turn.
func TestSB22_DamageRefusesTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range filled(t, dir, 8) {
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for at := range whole {
			damaged := append([]byte(nil), whole...)
			damaged[at] ^= 0x10
			require.NoError(t, os.WriteFile(path, damaged, fileMode))
			_, err := reopenLog(dir)
			var damage *DamageError
			require.ErrorAs(t, err, &damage, "byte %d of %s", at, path)
			require.Equal(t, path, damage.File)
			require.LessOrEqual(t, damage.Offset, int64(at))
			require.Contains(t, err.Error(), path)
		}
		require.NoError(t, os.WriteFile(path, whole, fileMode))
	}
	closeLog(t, openTestLog(t, dir))
}

func TestSB22_MissingOrShortFileRefusesTheStart(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"missing": func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
		"empty":   func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) },
		"cut":     func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 100)) },
		"cut between entries": func(t *testing.T, path string) {
			whole, err := os.ReadFile(path)
			require.NoError(t, err)
			_, _, ok := readRecord(whole[segmentHeader:])
			require.True(t, ok)
			h, _ := readHead(whole[segmentHeader:])
			require.NoError(t, os.Truncate(path, int64(segmentHeader+recordHeader+int(h.length))))
		},
		"another's": func(t *testing.T, path string) {
			require.NoError(t, os.Rename(path, filepath.Join(filepath.Dir(path), fmt.Sprintf("%020d%s", 5, segmentSuffix))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			paths := filled(t, dir, 20)
			change(t, paths[1])
			_, err := reopenLog(dir)
			var damage *DamageError
			require.ErrorAs(t, err, &damage)
		})
	}
}

// TestSB22_PowerFailureInTheLastBatch: pages of a batch that was never synced can
// reach the disk in any order; those that did not are zeros.
func TestSB22_PowerFailureInTheLastBatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openTestLog(t, dir)
	long := strings.Repeat("sixteen bytes...", 100)
	require.NoError(t, l.StoreLogs([]*raft.Log{entry(1, long), entry(2, long)}))
	require.NoError(t, l.StoreLogs([]*raft.Log{entry(3, long), entry(4, long), entry(5, long)}))
	path, offsets := l.segments[0].path, l.segments[0].offsets
	killLog(t, l)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	hole := func(offset int64) {
		at := (offset/512 + 1) * 512
		damaged := append([]byte(nil), whole...)
		clear(damaged[at : at+512])
		require.NoError(t, os.WriteFile(path, damaged, fileMode))
	}

	hole(offsets[2])
	l = openTestLog(t, dir)
	_, last := indexes(t, l)
	require.Equal(t, uint64(2), last, "the batch was never acknowledged")
	killLog(t, l)

	hole(offsets[0])
	_, err = reopenLog(dir)
	var damage *DamageError
	require.ErrorAs(t, err, &damage, "this batch was synced before the next was written")
	require.Equal(t, offsets[0], damage.Offset)
}

func TestLog_AWriteThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openTestLog(t, dir)
	require.NoError(t, l.StoreLog(entry(1, "kept")))
	write := l.disk.writeAt
	l.disk.writeAt = func(f *os.File, p []byte, offset int64) error {
		require.NoError(t, write(f, p[:len(p)/2], offset))
		return syscall.ENOSPC
	}
	require.ErrorIs(t, l.StoreLog(entry(2, "no room for this")), syscall.ENOSPC)
	l.disk.writeAt = write
	require.NoError(t, l.StoreLog(entry(2, "two")))
	closeLog(t, l)
	l = openTestLog(t, dir)
	defer closeLog(t, l)
	var got raft.Log
	require.NoError(t, l.GetLog(2, &got))
	require.Equal(t, "two", string(got.Data))
}

func TestLog_AfterAFailedSyncNothingIsWritten(t *testing.T) {
	t.Parallel()
	var failure error
	l := openTestLog(t, t.TempDir())
	l.onFailure = func(err error) { failure = err }
	defer closeLog(t, l)
	sync := l.disk.sync
	l.disk.sync = func(*os.File) error { return syscall.EIO }
	require.ErrorIs(t, l.StoreLog(entry(1, "x")), syscall.EIO)
	require.ErrorIs(t, failure, syscall.EIO)
	l.disk.sync = sync
	require.ErrorIs(t, l.StoreLog(entry(1, "x")), syscall.EIO, "the disk's state is unknown")
	first, last := indexes(t, l)
	require.Zero(t, first+last)
}

// FuzzScan: whatever is in a file, reading it ends, and what is taken for intact
// is.
func FuzzScan(f *testing.F) {
	var valid []byte
	for i := range uint64(3) {
		valid = appendRecord(valid, entry(i+1, "data"), 1)
	}
	f.Add(valid)
	f.Add(valid[:len(valid)-5])
	f.Add(append(append([]byte(nil), valid...), make([]byte, 600)...))
	f.Add([]byte("RLG1RLG1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		offsets, end, torn, damage := scan(data, 0, 1)
		require.LessOrEqual(t, end, len(data))
		require.Equal(t, end < len(data), torn || damage != "")
		require.False(t, torn && damage != "")
		for n, at := range offsets {
			h, payload, ok := readRecord(data[at:])
			require.True(t, ok)
			require.Equal(t, uint64(n+1), h.index)
			var l raft.Log
			if decodePayload(h.index, payload, &l) == nil {
				require.Equal(t, h.index, l.Index)
			}
		}
	})
}
