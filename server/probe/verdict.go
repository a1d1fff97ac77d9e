package probe

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	// connectTimeout bounds connecting, and answerTimeout everything after it.
	connectTimeout = 500 * time.Millisecond
	answerTimeout  = 500 * time.Millisecond
)

// outcome is what came out of a probe, in the words of the metrics.
type outcome string

const (
	succeeded  outcome = "success"
	refused    outcome = "refused"     // nobody listens there
	timedOut   outcome = "timeout"     // no answer in time
	unwelcome  outcome = "unexpected"  // an answer that says no
	overloaded outcome = "unavailable" // an answer that says not now
	readOnly   outcome = "read_only"   // a MySQL that is not written to
	broken     outcome = "error"       // anything else
)

var outcomes = []outcome{succeeded, refused, timedOut, unwelcome, overloaded, readOnly, broken}

// verdict is what a probe means for its target.
type verdict struct {
	outcome outcome
	// atOnce says that one such failure makes unhealthy, without counting.
	atOnce bool
}

// failure is the verdict on an error while connecting or waiting for an answer.
func failure(err error) verdict {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return verdict{outcome: refused, atOnce: true}
	case isTimeout(err):
		return verdict{outcome: timedOut}
	}
	return verdict{outcome: broken}
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}
