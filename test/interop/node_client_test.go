package interop

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/process"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// nodeClient is a child process that runs the Node.js client and does what it is
// told in lines of JSON; test/node/client.js says in which.
type nodeClient struct {
	stdin   io.Writer
	changes chan []testserver.Host

	mu      sync.Mutex
	lastID  int
	waiting map[int]chan nodeAnswer
}

// nodeAnswer is one line that the child process writes.
type nodeAnswer struct {
	ID     int               `json:"id"`
	Value  json.RawMessage   `json:"value"`
	Error  string            `json:"error"`
	Change string            `json:"change"`
	Hosts  []testserver.Host `json:"hosts"`
}

// needNode skips the test where Node.js or the client is not installed. On a
// build machine, which says CI=true, that is a failure.
func needNode(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join("..", "node", "node_modules", "nacos-naming"))
	}
	if err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("Node.js or its client is missing: %v", err)
	}
	t.Skipf("Node.js or its client is missing, `make interop` installs the client: %v", err)
}

// startNode runs the Node.js client against the server.
func startNode(t *testing.T, server *testserver.Server) *nodeClient {
	t.Helper()
	cmd := exec.Command("node", "client.js", server.Addr())
	cmd.Dir = filepath.Join("..", "node")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, answers, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout = answers
	n := &nodeClient{
		stdin:   stdin,
		changes: make(chan []testserver.Host, 100),
		waiting: make(map[int]chan nodeAnswer),
	}
	read := make(chan struct{})
	t.Cleanup(func() {
		<-read
		stdout.Close()
	})
	process.Start(t, "node", cmd)
	answers.Close() // the child has its own
	go func() {
		defer close(read)
		n.read(stdout)
	}()
	return n
}

// read hands each line to who waits for it, until the child process ends.
func (n *nodeClient) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var answer nodeAnswer
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			answer.Error = "not JSON: " + lines.Text()
		}
		if answer.Change != "" {
			n.changes <- answer.Hosts
			continue
		}
		n.mu.Lock()
		waiter := n.waiting[answer.ID]
		delete(n.waiting, answer.ID)
		n.mu.Unlock()
		if waiter != nil {
			waiter <- answer
		}
	}
}

// request is one line to the child process: op and its parameters.
type request map[string]any

// call sends a request, waits for its answer and decodes its value into result,
// unless that is nil.
func (n *nodeClient) call(t *testing.T, line request, result any) {
	t.Helper()
	waiter := make(chan nodeAnswer, 1)
	n.mu.Lock()
	n.lastID++
	line["id"] = n.lastID
	n.waiting[n.lastID] = waiter
	n.mu.Unlock()

	text, err := json.Marshal(line)
	require.NoError(t, err)
	_, err = n.stdin.Write(append(text, '\n'))
	require.NoError(t, err)
	select {
	case answer := <-waiter:
		if answer.Error != "" {
			err = errors.New(answer.Error)
		}
		require.NoError(t, err, "%v", line)
		if result != nil {
			require.NoError(t, json.Unmarshal(answer.Value, result))
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("no answer to %s", text)
	}
}

// next waits for a change to a list with exactly these ports.
func (n *nodeClient) next(t *testing.T, within time.Duration, ports ...int) {
	t.Helper()
	deadline := time.After(within)
	var last []int
	for {
		select {
		case hosts := <-n.changes:
			if last = portsOf(hosts); slices.Equal(last, ports) {
				return
			}
		case <-deadline:
			t.Fatalf("no list with the ports %v within %v, the last had %v", ports, within, last)
		}
	}
}
