package interop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/process"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// answeredWithin is how long a client may take for one call. Its first one waits
// for the start of its process and for a login.
const answeredWithin = time.Minute

// driver is a child process that has a foreign client do what it is told in
// lines of JSON; test/node/client.js and its like say in which.
type driver struct {
	stdin io.Writer
	lists chan []testserver.Host
	ended chan struct{} // closed when the child process writes no more

	mu      sync.Mutex
	lastID  int
	waiting map[int]chan driverAnswer
}

// driverAnswer is one line that the child process writes.
type driverAnswer struct {
	ID     int               `json:"id"`
	Value  json.RawMessage   `json:"value"`
	Error  string            `json:"error"`
	Change string            `json:"change"`
	Hosts  []testserver.Host `json:"hosts"`
}

// startDriver runs the command, which gets a home directory of its own: clients
// keep logs and caches there.
func startDriver(t *testing.T, name string, cmd *exec.Cmd) *driver {
	t.Helper()
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, answers, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout = answers
	d := &driver{
		stdin:   stdin,
		lists:   make(chan []testserver.Host, 100),
		ended:   make(chan struct{}),
		waiting: make(map[int]chan driverAnswer),
	}
	t.Cleanup(func() {
		<-d.ended
		stdout.Close()
	})
	process.Start(t, name, cmd)
	answers.Close() // the child has its own
	go func() {
		defer close(d.ended)
		d.read(stdout)
	}()
	return d
}

// read hands each line to who waits for it, until the child process ends.
func (d *driver) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var answer driverAnswer
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			answer.Error = "not JSON: " + lines.Text()
		}
		if answer.Change != "" {
			d.lists <- answer.Hosts
			continue
		}
		d.mu.Lock()
		waiter := d.waiting[answer.ID]
		delete(d.waiting, answer.ID)
		d.mu.Unlock()
		if waiter != nil {
			waiter <- answer
		}
	}
}

// request is one line to the child process: op and its parameters.
type request map[string]any

// call sends a request, waits for its answer and decodes its value into result,
// unless that is nil.
func (d *driver) call(line request, result any) error {
	waiter := make(chan driverAnswer, 1)
	d.mu.Lock()
	d.lastID++
	line["id"] = d.lastID
	d.waiting[d.lastID] = waiter
	d.mu.Unlock()

	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := d.stdin.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("tell the client %s: %w", text, err)
	}
	select {
	case answer := <-waiter:
		if answer.Error != "" {
			return fmt.Errorf("%s: %s", line["op"], answer.Error)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(answer.Value, result)
	case <-d.ended:
		return errors.New("the client has ended")
	case <-time.After(answeredWithin):
		return fmt.Errorf("no answer to %s within %v", text, answeredWithin)
	}
}

func (d *driver) version() (version string, err error) {
	return version, d.call(request{"op": "version"}, &version)
}

func (d *driver) register(service string, i instance) error {
	return d.call(request{"op": "register", "service": service, "instance": i}, nil)
}

func (d *driver) update(service string, i instance) error {
	return d.call(request{"op": "update", "service": service, "instance": i}, nil)
}

func (d *driver) deregister(service string, i instance) error {
	return d.call(request{"op": "deregister", "service": service, "instance": i}, nil)
}

func (d *driver) list(service string) (hosts []testserver.Host, err error) {
	return hosts, d.call(request{"op": "list", "service": service}, &hosts)
}

func (d *driver) choose(service string) (hosts []testserver.Host, err error) {
	return hosts, d.call(request{"op": "select", "service": service}, &hosts)
}

func (d *driver) subscribe(service string) error {
	return d.call(request{"op": "subscribe", "service": service, "clusters": cluster}, nil)
}

func (d *driver) changes() <-chan []testserver.Host { return d.lists }
