// Package process runs a child process for as long as a test lasts: started,
// watched, stopped and continued, ended by any signal, and never left behind.
package process

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/testutil"
)

// Process is a running or ended child process. Its methods may be called from
// several goroutines.
type Process struct {
	name   string
	cmd    *exec.Cmd
	output testutil.Output
	exited chan struct{}
	err    error // of Wait; readable once exited is closed
}

// Start runs cmd and collects what it writes to its standard error, and to its
// standard output unless cmd.Stdout or a pipe was set before. At the end of the
// test the process is killed if it still runs, and its output is logged if the
// test failed.
func Start(t testing.TB, name string, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{name: name, cmd: cmd, exited: make(chan struct{})}
	cmd.Stderr = &p.output
	if cmd.Stdout == nil {
		cmd.Stdout = &p.output
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, p.Output())
		}
	})
	return p
}

// Signal sends a signal. A process that has ended already is not an error.
func (p *Process) Signal(signal syscall.Signal) {
	// The only failure is that the process has ended, which Exited tells.
	_ = p.cmd.Process.Signal(signal)
}

// Pause stops the process where it is (SIGSTOP), until Continue or Kill.
func (p *Process) Pause() { p.Signal(syscall.SIGSTOP) }

// Continue lets a paused process run again (SIGCONT).
func (p *Process) Continue() { p.Signal(syscall.SIGCONT) }

// Kill ends the process at once (SIGKILL), paused or not, and waits for its end.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.exited
}

// Terminate asks the process to end (SIGTERM) and waits for it. It returns the
// error of its exit, nil for status 0, and fails the test when the process
// takes longer than within.
func (p *Process) Terminate(t testing.TB, within time.Duration) error {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
		return p.err
	case <-time.After(within):
		t.Fatalf("%s still runs %v after SIGTERM", p.name, within)
		return nil
	}
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Output is what the process has written so far.
func (p *Process) Output() string { return p.output.String() }
