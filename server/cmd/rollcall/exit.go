package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/control"
	"github.com/rollcall-go/rollcall/server/state"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1 // what was asked for failed
	exitUsage       = 2 // the command line is wrong
	exitNotFound    = 3 // what it is about is not there
	exitRefused     = 4 // credentials are missing, wrong, or not enough
	exitUnreachable = 5 // no answer came
)

// exitCodes is their table in the help.
const exitCodes = `Exit codes: 0 done; 1 failed; 2 the command line is wrong; 3 not found;
4 refused: credentials are missing, wrong or not enough; 5 no answer.`

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// silentError ends with a code and says nothing, as all was said.
type silentError int

func (e silentError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exitCode tells what went wrong with the command of this name, one line for each
// problem.
func exitCode(err error, command string, stderr io.Writer) int {
	var exit *autoconfig.ExitError
	var usage usageError
	var silent silentError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &silent):
		return int(silent)
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "rollcall: %v\nSee %s --help.\n", err, command)
		return exitUsage
	case errors.Is(err, syscall.EADDRINUSE):
		fmt.Fprintf(stderr, "rollcall: %v; stop whoever listens there or choose another port%s\n", err, portFlag(err))
		return exitFailed
	}
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error())+hint(err), "\n") {
		fmt.Fprintf(stderr, "rollcall: %s\n", line)
	}
	switch {
	case errors.Is(err, adminclient.ErrNotFound), errors.Is(err, state.ErrNotFound), errors.Is(err, control.ErrNoData):
		return exitNotFound
	case errors.Is(err, adminclient.ErrRefused):
		return exitRefused
	case errors.Is(err, adminclient.ErrUnreachable), errors.Is(err, consensus.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded):
		return exitUnreachable
	}
	return exitFailed
}

// hint says what to do about an error of a registry where a flag does it.
func hint(err error) string {
	var untrusted *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &untrusted):
		return "; --ca-file names the certificates to trust"
	case errors.As(err, &noTLS):
		return "; http:// in front of its address asks without TLS"
	case errors.Is(err, adminclient.ErrRefused) && strings.HasSuffix(err.Error(), noUser) && !strings.HasPrefix(err.Error(), logIn):
		return "; nobody was logged in, see --username"
	}
	return ""
}

// noUser is what registries answer to who has no credentials, or wrong ones.
const noUser = "unknown user!"

// portFlag names the flag for the port that is taken, where that has one.
func portFlag(err error) string {
	if strings.HasPrefix(err.Error(), "web server: ") {
		return " with --port"
	}
	return ""
}
