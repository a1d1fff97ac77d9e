package consensus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNode_LogIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := &journal{}
	n, err := Open(t.Context(), Options{Dir: dir, FSM: j, tuning: small()})
	require.NoError(t, err)
	for i := range 1000 {
		propose(t, n, fmt.Sprint(i))
	}
	eventually(t, "snapshots follow", func() bool { s := n.Status(); return s.SnapshotIndex > 900 })
	eventually(t, "the log is cut", func() bool { return n.Status().LogBytes < 20*2048 })
	require.Positive(t, n.Status().SnapshotBytes)
	snapshots, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(snapshots), keptSnapshots+1, "one may be under way")
	require.NoError(t, n.Close())

	j = &journal{}
	open(t, Options{Dir: dir, FSM: j, tuning: small()})
	require.Len(t, j.all(), 1000)
}

func TestNode_SnapshotIsTriedAgain(t *testing.T) {
	t.Parallel()
	var text logged
	j := &journal{broken: true}
	n := open(t, Options{Dir: t.TempDir(), FSM: j, Logger: text.logger(), tuning: small()})
	for i := range 60 {
		propose(t, n, fmt.Sprint(i))
	}
	eventually(t, "it is said", func() bool { return strings.Contains(text.String(), "could not be written to a snapshot") })
	j.mu.Lock()
	j.broken = false
	j.mu.Unlock()
	eventually(t, "it is taken", func() bool { return n.Status().SnapshotIndex > 0 })
}

func TestNode_FullDiskPasses(t *testing.T) {
	t.Parallel()
	var text logged
	n := open(t, Options{Dir: t.TempDir(), FSM: &journal{}, Logger: text.logger()})
	propose(t, n, "a")
	var mu sync.Mutex
	full := true
	log := n.disk.log
	log.writing.Lock()
	write := log.disk.writeAt
	log.disk.writeAt = func(f *os.File, p []byte, offset int64) error {
		mu.Lock()
		defer mu.Unlock()
		if full {
			return syscall.ENOSPC
		}
		return write(f, p, offset)
	}
	log.writing.Unlock()
	_, err := n.Propose(t.Context(), []byte("b"))
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, n.Status().Err)
	eventually(t, "an election needs the log, too", func() bool {
		_, err := n.Propose(t.Context(), []byte("b"))
		return errors.Is(err, ErrNotLeader) && errors.Is(err, syscall.ENOSPC)
	})
	require.Equal(t, 1, strings.Count(text.String(), "the log cannot be written"))
	mu.Lock()
	full = false
	mu.Unlock()
	eventually(t, "there is room again", func() bool {
		_, err := n.Propose(t.Context(), []byte("c"))
		return err == nil
	})
}

// TestNode_FullDiskHoldsVotes: the election that follows a failed write needs the
// votes, too.
func TestNode_FullDiskHoldsVotes(t *testing.T) {
	for name, passes := range map[string]bool{"and passes": true, "and the node is stopped": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text logged
			n, err := Open(t.Context(), Options{Dir: t.TempDir(), FSM: &journal{}, Logger: text.logger()})
			require.NoError(t, err)
			propose(t, n, "a")
			var full atomic.Bool
			full.Store(true)
			log, stable := n.disk.log, n.disk.stable
			log.writing.Lock()
			write := log.disk.writeAt
			log.disk.writeAt = func(f *os.File, p []byte, offset int64) error {
				if full.Load() {
					return syscall.ENOSPC
				}
				return write(f, p, offset)
			}
			log.writing.Unlock()
			stable.mu.Lock()
			place := stable.place
			stable.place = func(path string, content []byte) error {
				if full.Load() {
					return syscall.ENOSPC
				}
				return place(path, content)
			}
			stable.mu.Unlock()
			_, err = n.Propose(t.Context(), []byte("b"))
			require.ErrorIs(t, err, syscall.ENOSPC)
			eventually(t, "raft stands still", func() bool { return strings.Contains(text.String(), "the votes cannot be written") })
			require.NoError(t, n.Status().Err)
			require.ErrorIs(t, n.Status().Waiting, syscall.ENOSPC)
			require.NotContains(t, n.Status().Waiting.Error(), "/")
			if passes {
				full.Store(false)
				eventually(t, "there is room again", func() bool {
					_, err := n.Propose(t.Context(), []byte("c"))
					return err == nil
				})
				require.NoError(t, n.Status().Waiting)
			}
			require.NoError(t, n.Close())
		})
	}
}

func TestNode_BrokenDiskIsSaid(t *testing.T) {
	t.Parallel()
	var text logged
	dir := t.TempDir()
	n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}, Logger: text.logger()})
	require.NoError(t, err)
	propose(t, n, "a")
	n.disk.log.writing.Lock()
	n.disk.log.disk.sync = func(*os.File) error { return syscall.EIO }
	n.disk.log.writing.Unlock()
	_, err = n.Propose(t.Context(), []byte("b"))
	require.ErrorIs(t, err, ErrUnavailable)
	_, err = n.Propose(t.Context(), []byte("c"))
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorIs(t, n.Status().Err, syscall.EIO)
	require.Equal(t, 1, strings.Count(text.String(), "level=ERROR"))
	require.NoError(t, n.Close())

	j := &journal{}
	open(t, Options{Dir: dir, FSM: j})
	require.Equal(t, "a", j.all()[0])
}
