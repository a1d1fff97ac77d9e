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
const readyWithin = 20 * time.Second

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

// Server is one server process on a port of its own of 127.0.0.1. A server that
// is started again after its end keeps port and settings and has forgotten
// everything else.
type Server struct {
	binary  string
	port    int
	running *process.Process
}

// New reserves a port for a server that is not running yet.
func New(t testing.TB, binary string) *Server {
	t.Helper()
	return &Server{binary: binary, port: FreePort(t)}
}

// Start runs a new server and returns when it is ready to serve.
func Start(t testing.TB, binary string) *Server {
	t.Helper()
	s := New(t, binary)
	s.Start(t)
	return s
}

// Start runs the server, with an empty memory, and returns when it is ready to
// serve.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	cmd := exec.Command(s.binary, "--address", "127.0.0.1", "--port", strconv.Itoa(s.port))
	cmd.Dir = t.TempDir()
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

// Restart kills the server and starts it again on the same port.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
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

// Log is what the server has written since its last start.
func (s *Server) Log() string { return s.running.Output() }

// Port is the port the server listens on.
func (s *Server) Port() int { return s.port }

// Addr is the server's address as host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// FreePort returns a TCP port of 127.0.0.1 that nobody listens on. It lies below
// the ports that the kernel hands to outgoing connections, so that none of those
// takes it while a server is down.
func FreePort(t testing.TB) int {
	t.Helper()
	const lowest, count, tries = 15000, 15000, 100
	for range tries {
		port := lowest + rand.IntN(count)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatalf("no free port in %d tries", tries)
	return 0
}
