package testserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/internal/process"
)

// readyWithin is how long a server may take to answer after its start, on a
// machine that is busy with other tests.
const readyWithin = time.Minute

// stoppedWithin is how long it may take to end, lame duck included.
const stoppedWithin = time.Minute

// Build compiles the server of the module at root into the folder dir, as a
// release is built and with that module's dependencies, and returns the path of
// the binary. dir is absolute.
func Build(root, dir string) (string, error) {
	binary := filepath.Join(dir, "rollcall")
	build := exec.Command("go", "build", "-o", binary, "./server/cmd/rollcall")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, output)
	}
	return binary, nil
}

// Server is one server process on a port of its own of 127.0.0.1, with a data
// directory of its own. A server that is started again after its end keeps port,
// settings and data.
type Server struct {
	binary   string
	port     int
	dir      string   // where it runs, and keeps its data below
	settings []string // as environment variables
	token    string   // sent with Call, if any
	running  *process.Process
	gate     *gate // between the server and everybody else, if any
}

// New reserves a port for a server that is not running yet. Settings are
// environment variables, such as "NACOS_CORE_AUTH_ENABLED=true".
func New(t testing.TB, binary string, settings ...string) *Server {
	t.Helper()
	return &Server{binary: binary, port: FreePort(t), dir: t.TempDir(), settings: settings}
}

// Start runs a new server and returns when it is ready to serve.
func Start(t testing.TB, binary string, settings ...string) *Server {
	t.Helper()
	s := New(t, binary, settings...)
	s.Start(t)
	return s
}

// StartBehindGate is Start for a server that can be cut off from everybody; see
// [Server.CutOff].
func StartBehindGate(t testing.TB, binary string, settings ...string) *Server {
	t.Helper()
	s := New(t, binary, settings...)
	s.gate = newGate(t, s.Addr())
	s.Start(t)
	return s
}

// Start runs the server and returns when it is ready to serve.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	cmd := exec.Command(s.binary, "--address", "127.0.0.1", "--port", strconv.Itoa(s.port))
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), s.settings...)
	s.running = process.Start(t, "server on "+s.Addr(), cmd)
	poll.Until(t, readyWithin, func() error {
		select {
		case <-s.running.Exited():
			return errors.New("the server has ended")
		default:
			return s.Ready()
		}
	})
}

// Restart asks the server to end, as an upgrade does, and starts it again over
// the data it left.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.Terminate(t, stoppedWithin); err != nil {
		t.Fatalf("the server on %s ended with: %v", s.Addr(), err)
	}
	s.Start(t)
}

// Replace kills the server and starts one that has never heard of anybody, on
// the same port.
func (s *Server) Replace(t testing.TB) {
	t.Helper()
	s.Kill()
	s.dir = t.TempDir()
	s.Start(t)
}

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() { s.running.Kill() }

// Terminate asks the server to end and waits for it; see [process.Process].
func (s *Server) Terminate(t testing.TB, within time.Duration) error {
	t.Helper()
	return s.running.Terminate(t, within)
}

// Pause stops the server where it is, as a long pause of its machine does.
func (s *Server) Pause() { s.running.Pause() }

// Continue ends a Pause.
func (s *Server) Continue() { s.running.Continue() }

// CutOff lets nothing through to the server that comes over its address, and
// nothing back, as a broken network does. The server must have been started by
// [StartBehindGate].
func (s *Server) CutOff() { s.gate.set(true) }

// Reconnect ends a CutOff.
func (s *Server) Reconnect() { s.gate.set(false) }

// Log is what the server has written since its last start.
func (s *Server) Log() string { return s.running.Output() }

// Port is the port the server listens on.
func (s *Server) Port() int { return s.port }

// Addr is the server's address as host and port, or that of the gate before it.
func (s *Server) Addr() string {
	if s.gate != nil {
		return s.gate.listener.Addr().String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// FreePort returns a TCP port of 127.0.0.1 that nobody listens on and that this
// function returns to nobody else until the test ends, whatever process they are
// in. It lies below the ports that the kernel hands to outgoing connections, so
// that none of those takes it while a server is down.
func FreePort(t testing.TB) int {
	t.Helper()
	const lowest, count, tries = 15000, 15000, 100
	for range tries {
		port := lowest + rand.IntN(count)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		// The UDP port of the same number is nothing but the sign that it is taken.
		sign, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			sign.Close()
			continue
		}
		listener.Close()
		t.Cleanup(func() { sign.Close() })
		return port
	}
	t.Fatalf("no free port in %d tries", tries)
	return 0
}
