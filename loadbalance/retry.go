package loadbalance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Kinds of error that [RetryProperties].Exceptions names.
const (
	// ExceptionIO is a connection that failed or broke: every error of the
	// transport that is neither a timeout nor about certificates.
	ExceptionIO = "io"
	// ExceptionTimeout is an attempt that took too long while the call itself had
	// time left.
	ExceptionTimeout = "timeout"
)

// DefaultMaxNextInstances is how many further instances a failed call goes to
// (Spring's max-retries-on-next-service-instance).
const DefaultMaxNextInstances = 1

// maxUnsent bounds the attempts of one call that did not get as far as a
// connection. They are free of side effects and usually fast, and after a
// rolling restart or the loss of a rack several in a row are to be expected; but
// a caller should not wait for a hundred dead addresses.
const maxUnsent = 5

// maxDiscarded is the largest response that is read although it is not handed
// out, so that its connection can be used again.
const maxDiscarded = 4 << 10

// callSettings is what a [Transport] needs of a service's configuration.
type callSettings struct {
	retry        retrySettings
	preserveHost bool
	xForwarded   bool
	stickyCookie string // added to requests; "": none
	http         BaseTransportOptions
}

func newCallSettings(p Properties) callSettings {
	set := callSettings{
		retry: newRetrySettings(p.Retry), preserveHost: p.PreserveHost, xForwarded: p.XForwarded.Enabled,
		http: BaseTransportOptions{
			ConnectTimeout: p.HTTP.ConnectTimeout, ResponseTimeout: p.HTTP.ResponseTimeout,
			MaxIdleConnsPerHost: p.HTTP.MaxIdleConnsPerHost, MaxConnsPerHost: p.HTTP.MaxConnsPerHost,
		},
	}
	if p.StickySession.AddServiceInstanceCookie {
		set.stickyCookie = p.StickySession.InstanceIDCookieName
	}
	return set
}

// retrySettings says what is tried again.
type retrySettings struct {
	enabled       bool
	connect       bool // a connection that could not be made is harmless
	allOperations bool
	allErrors     bool
	io, timeout   bool
	same, next    int
	statusCodes   []int
	pause         *BackoffProperties // nil: none
	budget        int
}

func newRetrySettings(r RetryProperties) retrySettings {
	s := retrySettings{
		enabled: r.Enabled, connect: r.OnConnectError, allOperations: r.OnAllOperations, allErrors: r.OnAllExceptions,
		io: slices.Contains(r.Exceptions, ExceptionIO), timeout: slices.Contains(r.Exceptions, ExceptionTimeout),
		same: r.MaxSame, next: r.MaxNext, statusCodes: r.StatusCodes, budget: r.BudgetPercent,
	}
	if r.Backoff.Enabled {
		s.pause = &r.Backoff
	}
	return s
}

// permits reports whether a request may be sent again after an error, or after a
// response that counts as failed when err is nil.
func (s *retrySettings) permits(req *http.Request, err error) bool {
	if !s.allOperations && !isIdempotent(req) {
		return false
	}
	switch {
	case err == nil:
		return true
	case s.allErrors:
		return true
	case isTimeout(err):
		return s.timeout
	case isCertificateError(err):
		return false
	}
	return s.io
}

// wait pauses before another attempt; false when the call has no time left for
// it.
func (s *retrySettings) wait(ctx context.Context, pauses *backoff.ExponentialBackOff) bool {
	if s.pause == nil {
		return ctx.Err() == nil
	}
	pause := pauses.NextBackOff()
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *retrySettings) pauses() *backoff.ExponentialBackOff {
	if s.pause == nil {
		return nil
	}
	b := &backoff.ExponentialBackOff{
		InitialInterval: s.pause.Min, MaxInterval: s.pause.Max,
		RandomizationFactor: s.pause.Jitter, Multiplier: 2,
	}
	if b.MaxInterval == 0 {
		b.MaxInterval = math.MaxInt64 / 4
	}
	b.Reset()
	return b
}

const (
	// tokens is what one retry costs; a call earns budget-percent of them.
	tokens = 100
	// firstRetries are there before the first call, maxRetries are what can be
	// saved up.
	firstRetries = 10
	maxRetries   = 100
)

// budget bounds the retries of a service to a share of its calls, so that an
// outage is not multiplied (client rule D-R7).
type budget struct{ saved atomic.Int64 }

func (b *budget) init() { b.saved.Store(firstRetries * tokens) }

// earn counts a call.
func (b *budget) earn(percent int) {
	if percent > 0 && b.saved.Load() < maxRetries*tokens {
		b.saved.Add(int64(percent))
	}
}

// spend counts a retry; false when there may be none.
func (b *budget) spend(percent int) bool {
	if percent <= 0 {
		return true
	}
	for {
		saved := b.saved.Load()
		if saved < tokens {
			return false
		}
		if b.saved.CompareAndSwap(saved, saved-tokens) {
			return true
		}
	}
}

// isConnectError reports whether no connection could be made, so that nothing
// was sent.
func isConnectError(err error) bool {
	if err == nil {
		return false
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func isCertificateError(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host) ||
		errors.As(err, &invalid) || errors.As(err, &record)
}

// isIdempotent goes by RFC 9110, 9.2.2, and the headers by which net/http lets a
// caller vouch for others.
func isIdempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	_, vouched := req.Header["Idempotency-Key"]
	if !vouched {
		_, vouched = req.Header["X-Idempotency-Key"]
	}
	return vouched
}

// drop closes a response that is not handed out. It reads what is short and says
// so, for the connection's sake; the next attempt does not wait for an end that
// may be far off or never come.
func drop(resp *http.Response) {
	if resp.Body == nil {
		return
	}
	if resp.ContentLength >= 0 && resp.ContentLength <= maxDiscarded {
		_, _ = io.CopyN(io.Discard, resp.Body, resp.ContentLength+1) // one more, to come to the end
	}
	_ = resp.Body.Close()
}
