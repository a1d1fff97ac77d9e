package consensus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain runs the tests, or one of the processes that they start and kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDirectory); dir != "" {
		runChild(dir)
		return
	}
	if path := os.Getenv(childVotes); path != "" {
		runVoter(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// journal is a state machine that remembers its commands. "refuse" is refused,
// "newer" is of a newer version.
type journal struct {
	mu      sync.Mutex
	entries []string
	// newer lets it know the commands of a newer version.
	newer bool
	// broken makes its snapshots fail.
	broken bool
}

var errRefused = errors.New("refused")

type newerError struct{}

func (newerError) Error() string { return "a newer version wrote this" }
func (newerError) Halts() bool   { return true }

func (j *journal) Apply(command []byte) (any, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch text := string(command); {
	case text == "refuse":
		return nil, errRefused
	case text == "newer" && !j.newer:
		return nil, newerError{}
	default:
		j.entries = append(j.entries, text)
		return len(j.entries), nil
	}
}

func (j *journal) Check(command []byte) error {
	if string(command) == "malformed" {
		return errRefused
	}
	return nil
}

func (j *journal) Snapshot() (io.WriterTo, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken {
		return nil, errors.New("broken")
	}
	text, err := json.Marshal(j.entries)
	return bytes.NewReader(text), err
}

func (j *journal) read(r io.Reader) (entries []string, err error) {
	err = json.NewDecoder(r).Decode(&entries)
	return entries, err
}

func (j *journal) Restore(r io.Reader) error {
	entries, err := j.read(r)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = entries
	return nil
}

func (j *journal) CheckSnapshot(r io.Reader) error {
	_, err := j.read(r)
	return err
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// small makes snapshots and segments frequent.
func small() tuning {
	return tuning{snapshotEntries: 50, snapshotBytes: 16 << 20, trailingEntries: 10, segmentBytes: 2048}
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// open returns a node that is closed with the test.
func open(t testing.TB, o Options) *Node {
	t.Helper()
	n, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

// propose proposes commands one after the other.
func propose(t testing.TB, n *Node, commands ...string) {
	t.Helper()
	for _, c := range commands {
		_, err := n.Propose(context.Background(), []byte(c))
		require.NoError(t, err)
	}
}
