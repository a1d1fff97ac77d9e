package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/test/internal/metrics"
)

// server is the process under load.
type server struct {
	cmd    *exec.Cmd
	out    io.Writer
	dir    string
	url    string
	client *http.Client
	logged atomic.Int64
	ended  chan struct{} // closed when its log has ended
}

// start runs the binary on a free port of 127.0.0.1 with a data directory of its
// own.
func start(ctx context.Context, out io.Writer, binary string) (*server, error) {
	dir, err := os.MkdirTemp("", "rollcall-soak-*")
	if err != nil {
		return nil, err
	}
	s := &server{out: out, dir: dir, client: &http.Client{Timeout: 30 * time.Second}, ended: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, binary, "server", "--port", "0", "--address", "127.0.0.1", "--data-dir", dir)
	s.cmd.Env = append(os.Environ(), "MANAGEMENT_ENDPOINTS_EXPOSURE=health,prometheus", "ROLLCALL_CONFIG=")
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	serves := make(chan string, 1)
	go s.read(log, serves)
	select {
	case s.url = <-serves:
		return s, nil
	case <-s.ended:
		err = errors.New("the server ended at once")
	case <-time.After(time.Minute):
		err = errors.New("the server does not say that it serves")
	}
	s.kill()
	return nil, err
}

// read reads the log to its end: its size counts, and warnings are shown.
func (s *server) read(log io.Reader, serves chan<- string) {
	defer close(s.ended)
	url := regexp.MustCompile(`msg="registry serves" url=(\S+)`)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		s.logged.Add(int64(len(lines.Bytes())) + 1)
		if m := url.FindStringSubmatch(lines.Text()); m != nil {
			serves <- m[1]
		}
		if strings.Contains(lines.Text(), "level=WARN") || strings.Contains(lines.Text(), "level=ERROR") {
			fmt.Fprintln(s.out, "server:", lines.Text())
		}
	}
}

func (s *server) logBytes() int64 { return s.logged.Load() }

// settles waits until no push is pending, and returns how long that took or how
// many still are.
func (s *server) settles(ctx context.Context, within time.Duration) (took time.Duration, pending float64) {
	began := time.Now()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		m, err := s.metrics()
		if pending = m["rollcall_push_pending"]; err == nil && pending == 0 || time.Since(began) > within {
			return time.Since(began), pending
		}
		select {
		case <-ctx.Done():
			return time.Since(began), pending
		case <-ticker.C:
		}
	}
}

// terminate ends the server as a platform does. It returns what its exit came to.
func (s *server) terminate() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // one that has ended says so below
	select {
	case <-s.ended:
	case <-time.After(30 * time.Second):
		return errors.New("the server does not end within 30s")
	}
	return s.cmd.Wait()
}

// kill ends what is left of the server and removes its data.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // has usually ended already
	<-s.ended
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

// process is what the system knows of the server.
type process struct {
	resident    int64 // bytes
	descriptors int
	ticks       int64 // of processor time, a hundredth of a second each
}

func (s *server) process() (process, error) {
	root := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	status, err := os.ReadFile(root + "status")
	if err != nil {
		return process{}, err
	}
	var p process
	if m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status); m != nil {
		kib, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			return p, err
		}
		p.resident = kib << 10
	}
	open, err := os.ReadDir(root + "fd")
	if err != nil {
		return p, err
	}
	p.descriptors = len(open)
	stat, err := os.ReadFile(root + "stat")
	if err != nil {
		return p, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, field := range fields[11:13] { // in user mode, in the kernel
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return p, err
		}
		p.ticks += ticks
	}
	return p, nil
}

// metrics reads the server's own; see [metrics.Fetch].
func (s *server) metrics() (map[string]float64, error) {
	return metrics.Fetch(s.client, s.url+"/actuator/prometheus")
}
