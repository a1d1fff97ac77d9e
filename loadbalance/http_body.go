package loadbalance

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// outgoingBody hands a request's body to one attempt after the other without
// ever copying it (client rule D-R7). A body that can be had again (GetBody) is;
// one that can be read only once is handed on for as long as nobody has begun
// to read it.
type outgoingBody struct {
	request *http.Request
	// guard is around a body that can be read only once; nil for others.
	guard *bodyGuard
}

// first prepares the request's first attempt.
func (b *outgoingBody) first(retry bool) io.ReadCloser {
	body := b.request.Body
	if !retry || body == nil || body == http.NoBody || b.request.GetBody != nil {
		return body
	}
	b.guard = &bodyGuard{inner: body}
	return b.guard
}

// next returns the body for another attempt after one that failed; false when
// it has been used up.
func (b *outgoingBody) next() (io.ReadCloser, bool) {
	switch {
	case b.request.Body == nil || b.request.Body == http.NoBody:
		return b.request.Body, true
	case b.guard != nil:
		if !b.guard.takeBack() {
			return nil, false
		}
		b.guard = &bodyGuard{inner: b.guard.inner}
		return b.guard, true
	}
	body, err := b.request.GetBody()
	return body, err == nil
}

// settle says that there will be no further attempt.
func (b *outgoingBody) settle() {
	if b.guard != nil {
		b.guard.settle()
	}
}

// errTakenBack is what an attempt that was given up reads.
var errTakenBack = errors.New("the request goes to another instance")

// bodyGuard stands between an attempt and a body that can be read only once. A
// transport closes the body of a failed attempt; the guard holds that back
// until it is clear that nobody else will need the body.
type bodyGuard struct {
	inner io.ReadCloser

	mu      sync.Mutex
	reading bool // the attempt has begun to read
	taken   bool // given to another attempt
	settled bool // no other attempt will come
	closed  bool // the attempt closed it
}

func (g *bodyGuard) Read(p []byte) (int, error) {
	g.mu.Lock()
	if g.taken {
		g.mu.Unlock()
		return 0, errTakenBack
	}
	g.reading = true
	g.mu.Unlock()
	return g.inner.Read(p)
}

func (g *bodyGuard) Close() error {
	g.mu.Lock()
	g.closed = true
	held := g.taken || !g.reading && !g.settled
	g.mu.Unlock()
	if held {
		return nil
	}
	return g.inner.Close()
}

// takeBack takes the body away from the attempt; false when it has begun to
// read.
func (g *bodyGuard) takeBack() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken = !g.reading
	return g.taken
}

func (g *bodyGuard) settle() {
	g.mu.Lock()
	late := g.closed && !g.reading && !g.settled
	g.settled = true
	g.mu.Unlock()
	if late {
		// There is nobody left to tell: the attempt has ended.
		_ = g.inner.Close()
	}
}
