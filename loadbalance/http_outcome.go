package loadbalance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// reportEnd has the outcome reported when the response's body has been read or
// closed, since until then the instance is at work for this call. A response
// without a body has ended already.
func reportEnd(caller context.Context, resp *http.Response, done func(Outcome), latency time.Duration) {
	if done == nil {
		return
	}
	outcome := Outcome{StatusCode: resp.StatusCode, Latency: latency}
	if resp.Body == nil || resp.Body == http.NoBody {
		done(outcome)
		return
	}
	body := &watchedBody{ReadCloser: resp.Body, caller: caller, outcome: outcome, done: done}
	if w, ok := resp.Body.(io.Writer); ok {
		// A connection that was switched to another protocol is written to, too.
		resp.Body = &watchedConn{watchedBody: body, Writer: w}
		return
	}
	resp.Body = body
}

type watchedBody struct {
	io.ReadCloser
	caller  context.Context
	outcome Outcome
	done    func(Outcome)
	ended   atomic.Bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.end(nil)
	case err != nil:
		b.end(err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.end(nil)
	return err
}

func (b *watchedBody) end(err error) {
	if b.ended.CompareAndSwap(false, true) {
		outcome := b.outcome
		outcome.Err, outcome.CallerLeft = err, err != nil && b.caller.Err() != nil
		b.done(outcome)
	}
}

type watchedConn struct {
	*watchedBody
	io.Writer
}

// CloseWrite ends one direction, as net/http's own body of a switched protocol
// does: what a proxy's caller has finished saying must not cut off the answer.
func (c *watchedConn) CloseWrite() error {
	if inner, ok := c.Writer.(interface{ CloseWrite() error }); ok {
		return inner.CloseWrite()
	}
	return fmt.Errorf("close the writing side: %w", http.ErrNotSupported)
}
