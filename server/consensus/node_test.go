package consensus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
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
	require.Eventually(t, condition, 2*time.Minute, 2*time.Millisecond, what)
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
