package consensus

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// childDirectory makes this binary a node on that directory.
	childDirectory = "ROLLCALL_TEST_CHILD_DIRECTORY"
	// childVotes makes this binary a voter with that vote store.
	childVotes = "ROLLCALL_TEST_CHILD_VOTES"
	// crashRounds is how often the crash tests kill a process, 5 by default.
	crashRounds = "ROLLCALL_TEST_CRASH_ROUNDS"
)

// runChild is a process that proposes commands, several at a time, and says what
// was acknowledged, until it is killed or its standard input ends. Its first
// argument behind the flags makes the commands unique.
func runChild(dir string) {
	n, err := Open(context.Background(), Options{Dir: dir, FSM: &journal{}, tuning: small()})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	round := os.Args[len(os.Args)-1]
	for worker := range 4 {
		go func() {
			for i := 0; ; i++ {
				command := fmt.Sprintf("%s-%d-%d", round, worker, i)
				if _, err := n.Propose(context.Background(), []byte(command)); err != nil {
					return
				}
				fmt.Println("ack", command)
			}
		}()
	}
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	if err := n.Close(); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// child is a process that runs runChild or runVoter.
type child struct {
	cmd   *exec.Cmd
	lines chan string // closed when the process has ended
}

func startChild(t *testing.T, kind, path, round string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$", round)
	cmd.Env = append(os.Environ(), kind+"="+path)
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd, lines: make(chan string, 1<<16)}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	return c
}

// kill ends the process at once and returns what it said before.
func (c *child) kill(t *testing.T) (said []string) {
	t.Helper()
	require.NoError(t, c.cmd.Process.Kill())
	for line := range c.lines {
		said = append(said, line)
	}
	_ = c.cmd.Wait() // it was killed
	return said
}

func (c *child) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-c.lines:
		return line
	case <-time.After(2 * time.Minute):
		require.FailNow(t, "the process says nothing")
		return ""
	}
}

func rounds(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(crashRounds))
	if err != nil {
		return 5
	}
	return n
}

// TestSB22_Kill9 kills a process at random moments while it writes, takes
// snapshots and cuts its log. Everything it acknowledged, in all rounds, is there.
func TestSB22_Kill9(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var acknowledged []string
	for round := range rounds(t) {
		c := startChild(t, childDirectory, dir, strconv.Itoa(round))
		require.Equal(t, "ready", c.next(t))
		for range random.IntN(200) {
			line := c.next(t)
			require.True(t, strings.HasPrefix(line, "ack "), line)
			acknowledged = append(acknowledged, line[4:])
		}
		moment := time.NewTimer(time.Duration(random.IntN(3000)) * time.Microsecond)
		<-moment.C
		for _, line := range c.kill(t) {
			if strings.HasPrefix(line, "ack ") && strings.Count(line, "-") == 2 { // the last line may be half of one
				acknowledged = append(acknowledged, line[4:])
			}
		}
	}
	j := &journal{}
	n := open(t, Options{Dir: dir, FSM: j, tuning: small()})
	have := make(map[string]int)
	for _, e := range j.all() {
		have[e]++
		require.Equal(t, 1, have[e], "%s was applied twice", e)
	}
	for _, e := range acknowledged {
		require.Contains(t, have, e)
	}
	t.Logf("%d acknowledged, %d there, log %d bytes, snapshot at %d of %d",
		len(acknowledged), len(have), n.Status().LogBytes, n.Status().SnapshotIndex, n.Status().LastIndex)
	require.NotEmpty(t, acknowledged)
}

// TestSB22_KillDuringTheFirstStart kills a process that makes a new data
// directory; the next start works.
func TestSB22_KillDuringTheFirstStart(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	before := 0
	for range rounds(t) {
		dir := filepath.Join(t.TempDir(), "data")
		c := startChild(t, childDirectory, dir, "0")
		// The directory appears some time after the process; from then on it takes
		// some milliseconds to be whole.
		require.Eventually(t, func() bool { _, err := os.Stat(dir); return err == nil }, 2*time.Minute, 100*time.Microsecond)
		moment := time.NewTimer(time.Duration(random.IntN(60_000)) * time.Microsecond)
		<-moment.C
		c.kill(t)
		if _, err := os.Stat(filepath.Join(dir, "VERSION")); err != nil {
			before++
		}
		n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}, tuning: small()})
		require.NoError(t, err)
		propose(t, n, "works")
		require.NoError(t, n.Close())
	}
	t.Logf("%d of %d killed before the directory was whole", before, rounds(t))
}

func TestSB22_SecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	c := startChild(t, childDirectory, dir, "0")
	require.Equal(t, "ready", c.next(t))
	var text logged
	_, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}, Logger: text.logger()})
	require.ErrorIs(t, err, ErrDirectoryInUse)
	require.ErrorContains(t, err, dir)
	require.ErrorContains(t, err, fmt.Sprintf("process %d", c.cmd.Process.Pid))
	c.kill(t)
	n, err := Open(t.Context(), Options{Dir: dir, FSM: &journal{}})
	require.NoError(t, err, "the lock ends with the process")
	require.NoError(t, n.Close())

	c = startChild(t, childDirectory, dir, "1")
	require.Equal(t, "ready", c.next(t))
	c.kill(t)
}
