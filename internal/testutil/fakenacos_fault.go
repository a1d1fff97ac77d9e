package testutil

import (
	"io"
	"net/http"
	"time"
)

// Fault is how a [FakeNacos] misbehaves for one request. Delay and Until come
// first; then Reset, or a foreign answer where Status is not 0, or else the
// normal answer.
type Fault struct {
	// Delay passes before anything else happens.
	Delay time.Duration
	// Until, when not nil, is waited for until it is closed.
	Until <-chan struct{}
	// Reset closes the connection without an answer.
	Reset bool
	// Status and Body answer instead of the server.
	Status int
	Body   string
}

// SetFault has choose called for each request; where it returns a fault, that is
// played. A nil choose ends the misbehaviour. choose runs concurrently.
func (f *FakeNacos) SetFault(choose func(Request) *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = choose
}

// play reports whether the request is dealt with.
func (f *Fault) play(w http.ResponseWriter, r *http.Request) bool {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			return true
		}
	}
	if f.Until != nil {
		select {
		case <-f.Until:
		case <-r.Context().Done():
			return true
		}
	}
	if f.Reset {
		panic(http.ErrAbortHandler)
	}
	if f.Status != 0 {
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
		return true
	}
	return false
}
