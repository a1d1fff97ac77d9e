package consensus

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func newStable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stable.db")
	require.NoError(t, createStable(path))
	s, err := openStable(path, func(err error) { t.Error(err) })
	require.NoError(t, err)
	require.NoError(t, s.SetUint64([]byte("CurrentTerm"), 7))
	require.NoError(t, s.Set([]byte("LastVoteCand"), []byte("node-1")))
	require.NoError(t, s.Close())
	return path
}

func TestStable_KeepsValues(t *testing.T) {
	path := newStable(t)
	s, err := openStable(path, func(err error) { t.Error(err) })
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	term, err := s.GetUint64([]byte("CurrentTerm"))
	require.NoError(t, err)
	require.Equal(t, uint64(7), term)
	vote, err := s.Get([]byte("LastVoteCand"))
	require.NoError(t, err)
	require.Equal(t, "node-1", string(vote))
	none, err := s.GetUint64([]byte("unknown"))
	require.NoError(t, err)
	require.Zero(t, none)
	_, err = s.GetUint64([]byte("LastVoteCand"))
	require.Error(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fileMode, info.Mode().Perm())
}

// TestSB22_DamagedVotesAreNeverBelieved flips bytes all over the file: it opens
// with the values that were written, or not at all.
func TestSB22_DamagedVotesAreNeverBelieved(t *testing.T) {
	path := newStable(t)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	refused := 0
	for at := range whole {
		if whole[at] == 0 && at%97 != 0 {
			continue // mostly unused room
		}
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 0x20
		path := filepath.Join(t.TempDir(), strconv.Itoa(at)) // a refused one stays locked
		require.NoError(t, os.WriteFile(path, damaged, fileMode))
		s, err := openStable(path, func(err error) { t.Error(err) })
		if err != nil {
			refused++
			require.ErrorContains(t, err, path, "byte %d", at)
			continue
		}
		require.Len(t, s.values, 2, "byte %d", at)
		term, err := s.GetUint64([]byte("CurrentTerm"))
		require.NoError(t, err)
		require.Equal(t, uint64(7), term, "byte %d", at)
		require.NoError(t, s.Close())
	}
	require.Positive(t, refused)
	for _, size := range []int{0, 1, 100, 4096, 4097, len(whole) / 2} {
		path := filepath.Join(t.TempDir(), strconv.Itoa(size))
		require.NoError(t, os.WriteFile(path, whole[:size], fileMode))
		_, err := openStable(path, func(err error) { t.Error(err) })
		require.Error(t, err, "%d bytes", size)
	}
	require.NoError(t, os.Remove(path))
	_, err = openStable(path, func(err error) { t.Error(err) })
	require.ErrorIs(t, err, os.ErrNotExist)
}
