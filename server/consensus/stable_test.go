package consensus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wholefile"
)

var (
	termKey      = []byte("CurrentTerm")
	voteKey      = []byte("LastVoteTerm")
	candidateKey = []byte("LastVoteCand")
)

func openTestStable(t testing.TB, path string) *stableStore {
	t.Helper()
	s, err := openStable(path, slog.New(slog.DiscardHandler), func(err error) { t.Error(err) })
	require.NoError(t, err)
	return s
}

// newStable makes a store with a term and a vote and returns its path.
func newStable(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "votes")
	require.NoError(t, createStable(path))
	s := openTestStable(t, path)
	require.NoError(t, s.SetUint64(termKey, 7))
	require.NoError(t, s.SetUint64(voteKey, 6))
	require.NoError(t, s.Set(candidateKey, []byte("node-1")))
	return path
}

func requireTerm(t testing.TB, s *stableStore, want uint64) {
	t.Helper()
	term, err := s.GetUint64(termKey)
	require.NoError(t, err)
	require.Equal(t, want, term)
}

// requireDamage opens a store that is refused, and returns why.
func requireDamage(t testing.TB, path, what string) *DamageError {
	t.Helper()
	_, err := openStable(path, slog.New(slog.DiscardHandler), func(err error) { t.Error(err) })
	var damage *DamageError
	require.ErrorAs(t, err, &damage, what)
	require.Equal(t, path, damage.File)
	return damage
}

func TestStable_KeepsValues(t *testing.T) {
	path := newStable(t)
	s := openTestStable(t, path)
	requireTerm(t, s, 7)
	vote, err := s.Get(candidateKey)
	require.NoError(t, err)
	require.Equal(t, "node-1", string(vote))
	none, err := s.GetUint64([]byte("unknown"))
	require.NoError(t, err)
	require.Zero(t, none)
	_, err = s.GetUint64(candidateKey)
	require.Error(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fileMode, info.Mode().Perm())
}

func TestStable_WritesWhatIsNewOnly(t *testing.T) {
	s := openTestStable(t, newStable(t))
	place, written := s.place, 0
	s.place = func(path string, content []byte) error { written++; return place(path, content) }
	require.NoError(t, s.SetUint64(termKey, 7))
	require.Zero(t, written, "raft repeats the term at every start, with a full disk, too")
	require.NoError(t, s.SetUint64(termKey, 8))
	require.NoError(t, s.Set([]byte("empty"), nil))
	require.Equal(t, 2, written)
}

// TestSB22_DamagedVotesAreNeverBelieved flips every bit of the file, cuts it
// everywhere and makes it longer: all of that refuses the start.
func TestSB22_DamagedVotesAreNeverBelieved(t *testing.T) {
	t.Parallel()
	path := newStable(t)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := range whole {
		for bit := range 8 {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 1 << bit
			_, err := decodeStable(path, damaged)
			var damage *DamageError
			require.ErrorAs(t, err, &damage, "bit %d of byte %d", bit, at)
			require.LessOrEqual(t, damage.Offset, int64(at))
			if bit == at%8 { // a file takes longer
				require.NoError(t, os.WriteFile(path, damaged, fileMode))
				require.Equal(t, damage, requireDamage(t, path, "as a file"))
			}
		}
	}
	for size := range whole {
		require.NoError(t, os.WriteFile(path, whole[:size], fileMode))
		require.Equal(t, int64(size), requireDamage(t, path, fmt.Sprintf("%d bytes", size)).Offset)
	}
	require.NoError(t, os.WriteFile(path, append(bytes.Clone(whole), 0), fileMode))
	require.Equal(t, int64(len(whole)), requireDamage(t, path, "a byte more").Offset)
	require.NoError(t, os.WriteFile(path, make([]byte, len(whole)), fileMode))
	requireDamage(t, path, "zeros")
	require.NoError(t, os.Remove(path))
	require.ErrorContains(t, requireDamage(t, path, "no file"), "missing")
	require.NoError(t, os.WriteFile(path, whole, fileMode))
	requireTerm(t, openTestStable(t, path), 7)
}

func TestStable_AnotherFormatIsRefused(t *testing.T) {
	path := newStable(t)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[4] = 2
	binary.LittleEndian.PutUint32(content[16:], checksum(content[:16]))
	require.NoError(t, os.WriteFile(path, content, fileMode))
	_, err = openStable(path, slog.New(slog.DiscardHandler), func(err error) { t.Error(err) })
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "format 2")
}

// TestSB22_KilledBeforeTheRename leaves what a kill leaves of a store that is
// being replaced, at every byte: the store has what it had before.
func TestSB22_KilledBeforeTheRename(t *testing.T) {
	path := newStable(t)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, openTestStable(t, path).SetUint64(termKey, 8))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, before, fileMode))
	for size := range len(after) + 1 {
		require.NoError(t, os.WriteFile(path+unfinished, after[:size], fileMode))
		requireTerm(t, openTestStable(t, path), 7)
		require.NoFileExists(t, path+unfinished)
	}
	require.NoError(t, os.WriteFile(path+unfinished, after, fileMode))
	require.NoError(t, os.Rename(path+unfinished, path))
	requireTerm(t, openTestStable(t, path), 8)
}

// runVoter is a process that votes in one term after the other and says so, until
// it is killed.
func runVoter(path string) {
	s, err := openStable(path, slog.New(slog.DiscardHandler), func(error) {})
	for term := uint64(1); err == nil; term++ {
		var old uint64
		if old, err = s.GetUint64(termKey); err != nil {
			break
		}
		if err = s.SetUint64(termKey, old+1); err == nil {
			fmt.Println("term", old+1)
		}
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// TestSB22_KillWhileVoting kills a process that changes its term all the time:
// the term it spoke of last is there, or the one it was just writing.
func TestSB22_KillWhileVoting(t *testing.T) {
	t.Parallel()
	path := newStable(t)
	term, halfway := uint64(7), 0
	for range 2 * rounds(t) {
		c := startChild(t, childVotes, path, "")
		require.Equal(t, fmt.Sprint("term ", term+1), c.next(t))
		term++
		for _, line := range c.kill(t) {
			if text, whole := strings.CutPrefix(line, "term "); whole {
				said, err := strconv.ParseUint(text, 10, 64)
				require.NoError(t, err)
				term = max(term, said) // the last line may be half of one
			}
		}
		if _, err := os.Stat(path + unfinished); err == nil {
			halfway++
		}
		got, err := openTestStable(t, path).GetUint64(termKey)
		require.NoError(t, err)
		require.Contains(t, []uint64{term, term + 1}, got)
		term = got
	}
	t.Logf("%d of %d killed before the rename, at term %d", halfway, 2*rounds(t), term)
}

// TestStable_FullDiskPasses: raft stands still while nothing can be written, and
// goes on when it can.
func TestStable_FullDiskPasses(t *testing.T) {
	path := newStable(t)
	synctest.Test(t, func(t *testing.T) {
		var text logged
		s, err := openStable(path, text.logger(), func(err error) { t.Error(err) })
		require.NoError(t, err)
		s.hold()
		place, attempts := s.place, 0
		s.place = func(path string, content []byte) error {
			if attempts++; attempts < 20 {
				return syscall.ENOSPC
			}
			return place(path, content)
		}
		require.NoError(t, s.SetUint64(termKey, 8))
		require.Equal(t, 20, attempts)
		require.Equal(t, 1, strings.Count(text.String(), "the votes cannot be written"))
	})
	requireTerm(t, openTestStable(t, path), 8)
}

// TestStable_NoVoteWithoutAFile: a node that is stopped while nothing can be
// written ends without a vote, and without ending the process.
func TestStable_NoVoteWithoutAFile(t *testing.T) {
	for name, c := range map[string]struct {
		breakIt  func(s *stableStore)
		failures int
	}{
		"write": {func(s *stableStore) { s.place = func(string, []byte) error { return syscall.ENOSPC } }, 0},
		"sync":  {func(s *stableStore) { s.sync = func(string) error { return syscall.EIO } }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := newStable(t)
			synctest.Test(t, func(t *testing.T) {
				failures := 0
				s, err := openStable(path, slog.New(slog.DiscardHandler), func(error) { failures++ })
				require.NoError(t, err)
				s.hold()
				c.breakIt(s)
				ended := make(chan error, 2)
				go func() {
					ended <- s.SetUint64(voteKey, 8)
					ended <- s.Set(candidateKey, []byte("node-2"))
				}()
				synctest.Wait()
				require.Empty(t, ended)
				s.release()
				require.NoError(t, <-ended, "raft would panic")
				require.Error(t, <-ended)
				s.place, s.sync = placeFile, wholefile.SyncDirectory
				require.Error(t, s.Set(candidateKey, []byte("node-2")), "the term of this vote was not written")
				require.Error(t, s.Set(candidateKey, []byte("node-1")), "nor of this one")
				require.Equal(t, c.failures, failures)
			})
			vote, err := openTestStable(t, path).Get(candidateKey)
			require.NoError(t, err)
			require.Equal(t, "node-1", string(vote))
		})
	}
}

// TestStable_FirstStartHearsOfAFailure: before raft runs there is somebody to
// tell.
func TestStable_FirstStartHearsOfAFailure(t *testing.T) {
	s := openTestStable(t, newStable(t))
	s.place = func(string, []byte) error { return syscall.ENOSPC }
	require.ErrorIs(t, s.SetUint64(termKey, 8), syscall.ENOSPC)
	s.place = placeFile
	s.sync = func(string) error { return syscall.EIO }
	require.ErrorIs(t, s.Set(candidateKey, []byte("node-2")), syscall.EIO)
}

// FuzzStable: whatever is in the file, it is refused or it is what would be
// written.
func FuzzStable(f *testing.F) {
	content, err := os.ReadFile(newStable(f))
	require.NoError(f, err)
	f.Add(content[:sealHeader], content[sealHeader:])
	f.Add(content[:sealHeader], []byte("null"))
	f.Fuzz(func(t *testing.T, header, text []byte) {
		if len(header) == sealHeader { // so that something gets behind the checksums
			binary.LittleEndian.PutUint32(header[8:], uint32(len(text)))
			binary.LittleEndian.PutUint32(header[12:], checksum(text))
			binary.LittleEndian.PutUint32(header[16:], checksum(header[:16]))
		}
		values, err := decodeStable("votes", append(bytes.Clone(header), text...))
		if err != nil {
			require.ErrorContains(t, err, "votes")
			return
		}
		again, err := votes.encode(values)
		require.NoError(t, err)
		decoded, err := decodeStable("votes", again)
		require.NoError(t, err)
		require.Equal(t, values, decoded)
	})
}
