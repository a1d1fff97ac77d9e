package consensus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 30*time.Second, 2*time.Millisecond, what)
}

func TestNode_ProposesAndRemembers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	j := &journal{}
	registry := prometheus.NewRegistry()
	n, err := Open(t.Context(), Options{Dir: dir, FSM: j, Registerer: registry})
	require.NoError(t, err)
	result, err := n.Propose(t.Context(), []byte("a"))
	require.NoError(t, err)
	require.Equal(t, 1, result, "what the state machine made of it")
	propose(t, n, "b", "c")
	_, err = n.Propose(t.Context(), []byte("refuse"))
	require.ErrorIs(t, err, errRefused)
	require.NotErrorIs(t, err, ErrUnavailable)
	_, err = n.Propose(t.Context(), []byte("malformed"))
	require.ErrorIs(t, err, errRefused)
	_, err = n.Propose(t.Context(), make([]byte, MaxCommandBytes+1))
	require.ErrorIs(t, err, ErrTooLarge)
	require.NoError(t, n.Barrier(t.Context()))

	eventually(t, "raft has counted it", func() bool { s := n.Status(); return s.AppliedIndex == s.LastIndex })
	s := n.Status()
	require.Equal(t, raft.Leader.String(), s.State)
	require.Equal(t, s.Node, s.Leader)
	require.Equal(t, s.Leader, n.Leader())
	require.NoError(t, s.Err)
	require.Positive(t, s.LogBytes)
	count, err := testutil.GatherAndCount(registry, "rollcall_raft_proposals_total", "rollcall_raft_log_bytes", "rollcall_raft_applied_index",
		"rollcall_raft_fsync_seconds", "rollcall_raft_snapshot_bytes")
	require.NoError(t, err)
	require.Equal(t, 8, count, "every outcome of a proposal is there from the start")
	count, err = testutil.GatherAndCount(registry, "rollcall_raft_snapshots_total")
	require.NoError(t, err)
	require.Equal(t, 2, count, "as is every outcome of a snapshot")

	require.NoError(t, n.Close())
	require.NoError(t, n.Close())
	_, err = n.Propose(t.Context(), []byte("late"))
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorIs(t, n.Barrier(t.Context()), ErrUnavailable)

	j = &journal{}
	again := open(t, Options{Dir: dir, FSM: j})
	require.Equal(t, []string{"a", "b", "c"}, j.all(), "there when Open returns")
	require.Equal(t, s.Node, again.Status().Node)
}

func TestNode_InMemory(t *testing.T) {
	j := &journal{}
	n := open(t, Options{FSM: j, tuning: small()})
	for i := range 300 {
		propose(t, n, fmt.Sprint(i))
	}
	require.Len(t, j.all(), 300)
	require.Zero(t, n.Status().LogBytes)
}

func TestNode_NeedsAStateMachine(t *testing.T) {
	_, err := Open(t.Context(), Options{})
	require.Error(t, err)
}

func TestNode_ContextEndsTheWait(t *testing.T) {
	n := open(t, Options{FSM: &journal{}})
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client went away")
	cancel(gone)
	_, err := n.Propose(ctx, []byte("x"))
	require.ErrorIs(t, err, gone)
	_, err = Open(ctx, Options{FSM: &journal{}})
	require.ErrorIs(t, err, gone)
}

func TestNode_TooManyUnderWay(t *testing.T) {
	n := open(t, Options{FSM: &journal{}})
	for range maxPending {
		n.slots <- struct{}{}
	}
	_, err := n.Propose(t.Context(), []byte("one too many"))
	require.ErrorIs(t, err, ErrUnavailable)
	for range maxPending {
		<-n.slots
	}
	propose(t, n, "room again")
}

// TestNode_CloseFinishesWhatIsUnderWay: a stop loses no acknowledged command and
// answers every caller (server case SB-22: SIGTERM finishes writes in progress).
func TestNode_CloseFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}})
	require.NoError(t, err)
	var mu sync.Mutex
	var acknowledged []string
	var callers sync.WaitGroup
	for c := range 20 {
		callers.Go(func() {
			for i := 0; ; i++ {
				command := fmt.Sprintf("%d-%d", c, i)
				_, err := n.Propose(context.Background(), []byte(command))
				if err != nil {
					if !errors.Is(err, ErrUnavailable) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, command)
				mu.Unlock()
			}
		})
	}
	eventually(t, "some are acknowledged", func() bool { mu.Lock(); defer mu.Unlock(); return len(acknowledged) > 100 })
	require.NoError(t, n.Close())
	callers.Wait()
	j := &journal{}
	open(t, Options{Dir: dir, FSM: j})
	require.Subset(t, j.all(), acknowledged)
}

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

// TestNode_ACommandOfANewerVersionIsKept: a version that does not know a command
// stops before it, takes no snapshot, and loses nothing.
func TestNode_ACommandOfANewerVersionIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{newer: true}})
	require.NoError(t, err)
	propose(t, n, "a", "newer", "b")
	require.NoError(t, n.Close())

	_, err = Open(t.Context(), Options{Dir: dir, FSM: &journal{}})
	require.ErrorAs(t, err, &newerError{})
	require.ErrorContains(t, err, "entry 5 of the log")

	j := &journal{newer: true}
	n, err = Open(t.Context(), Options{Dir: dir, FSM: j})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "newer", "b"}, j.all())
	require.NoError(t, n.Close())

	j = &journal{}
	n = open(t, Options{FSM: j})
	propose(t, n, "a")
	_, err = n.Propose(t.Context(), []byte("newer"))
	require.ErrorAs(t, err, &newerError{})
	_, err = n.Propose(t.Context(), []byte("b"))
	require.ErrorIs(t, err, ErrUnavailable)
	require.Error(t, n.Status().Err)
	require.Error(t, n.raft.Snapshot().Error())
	require.Error(t, n.Backup(t.Context(), &bytes.Buffer{}))
	require.Equal(t, []string{"a"}, j.all())
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

func TestNode_BackupAndRestore(t *testing.T) {
	t.Parallel()
	n := open(t, Options{Dir: t.TempDir(), FSM: &journal{}, tuning: small()})
	for i := range 120 {
		propose(t, n, fmt.Sprint(i))
	}
	var backup bytes.Buffer
	require.NoError(t, n.Backup(t.Context(), &backup))
	propose(t, n, "after the backup")

	for name, dir := range map[string]string{"disk": filepath.Join(t.TempDir(), "new"), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			j := &journal{}
			fresh, err := Open(t.Context(), Options{Dir: dir, FSM: j})
			require.NoError(t, err)
			propose(t, fresh, "is replaced")
			require.NoError(t, fresh.Restore(t.Context(), bytes.NewReader(backup.Bytes())))
			require.Len(t, j.all(), 120)
			propose(t, fresh, "goes on")
			require.NoError(t, fresh.Close())
			if dir == "" {
				return
			}
			j = &journal{}
			open(t, Options{Dir: dir, FSM: j})
			require.Len(t, j.all(), 121)
			require.Equal(t, "goes on", j.all()[120])
		})
	}
	t.Run("damaged", func(t *testing.T) {
		j := &journal{}
		n := open(t, Options{FSM: j})
		propose(t, n, "stays")
		for at := 0; at < backup.Len(); at += 7 {
			damaged := bytes.Clone(backup.Bytes())
			damaged[at] ^= 1
			var damage *DamageError
			require.ErrorAs(t, n.Restore(t.Context(), bytes.NewReader(damaged)), &damage)
			require.ErrorAs(t, n.Restore(t.Context(), bytes.NewReader(backup.Bytes()[:at])), &damage)
		}
		require.Error(t, n.Restore(t.Context(), bytes.NewReader(contained(t, []byte("no state")))))
		require.Equal(t, []string{"stays"}, j.all())
	})
}

// TestNode_CrashAfterARestore: a restored backup jumps ahead of the log; when the
// process dies before the log was removed, the next start removes it.
func TestNode_CrashAfterARestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}})
	require.NoError(t, err)
	propose(t, n, "a", "b")
	var backup bytes.Buffer
	require.NoError(t, n.Backup(t.Context(), &backup))
	propose(t, n, "c")
	before := t.TempDir()
	require.NoError(t, os.CopyFS(before, os.DirFS(filepath.Join(dir, "log"))))
	require.NoError(t, n.Restore(t.Context(), &backup))
	require.NoError(t, n.Close())
	logs, err := filepath.Glob(filepath.Join(dir, "log", "*"))
	require.NoError(t, err)
	for _, path := range logs {
		require.NoError(t, os.Remove(path))
	}
	require.NoError(t, os.CopyFS(filepath.Join(dir, "log"), os.DirFS(before)))

	j := &journal{}
	n, err = Open(t.Context(), Options{Dir: dir, FSM: j})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, j.all())
	propose(t, n, "d")
	require.NoError(t, n.Close())
	j = &journal{}
	open(t, Options{Dir: dir, FSM: j})
	require.Equal(t, []string{"a", "b", "d"}, j.all())
}

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

func TestNode_RaftsErrors(t *testing.T) {
	n := &Node{}
	for _, err := range []error{raft.ErrNotLeader, raft.ErrLeadershipLost, raft.ErrLeadershipTransferInProgress} {
		require.ErrorIs(t, n.translate(err), ErrNotLeader)
		require.ErrorIs(t, n.translate(err), ErrUnavailable)
	}
	for _, err := range []error{raft.ErrRaftShutdown, raft.ErrEnqueueTimeout, raft.ErrAbortedByRestore, syscall.EIO} {
		require.ErrorIs(t, n.translate(err), ErrUnavailable)
		require.NotErrorIs(t, n.translate(err), ErrNotLeader)
	}
}
