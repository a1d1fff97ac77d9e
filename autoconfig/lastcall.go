package autoconfig

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// handshakeTime is how long a connection that was being made when the server
	// became deaf has to be there.
	handshakeTime = 100 * time.Millisecond
	// lastCall is how long a connection that was accepted before the end has for
	// its first request.
	lastCall = time.Second
	// firstLook and maxLook are the times between two looks at who is still to be
	// waited for.
	firstLook, maxLook = time.Millisecond, 50 * time.Millisecond
)

// stopListening accepts no more connections. Closing a listener resets those that
// wait to be accepted, with the requests in them, so first no new ones are let in
// and the waiting ones are accepted, where the system can do that.
func (s *WebServer) stopListening(ctx context.Context) {
	s.mu.Lock()
	opened, listener := s.opened, s.listener
	s.mu.Unlock()
	s.closing.Store(true)
	if door, ok := deafen(opened); ok {
		s.waitWhile(ctx, func() bool { return door.waiting() || listener.acceptedWithin(handshakeTime) })
	}
	_ = listener.Close() // it is no longer used, whatever is wrong with it
	<-s.served
}

// sayGoodbye returns when every connection has had the answer to what it has asked
// and has ended, but for those that http.Server.Shutdown ends as well as this. The
// others it would close over a request that was not read when it began.
func (s *WebServer) sayGoodbye(ctx context.Context) {
	s.goodbye.Store(true)
	s.waitWhile(ctx, func() bool {
		wait := false
		s.guests.each(func(g *guest) { wait = g.leave() || wait })
		return wait
	})
}

// waitWhile returns when the condition has ended, or there is no time left.
func (s *WebServer) waitWhile(ctx context.Context, condition func() bool) {
	for pause := firstLook; condition() && ctx.Err() == nil && s.cut.Err() == nil; pause = min(2*pause, maxLook) {
		s.wait(ctx, pause)
	}
}

// guests are the connections that were accepted and have not ended.
type guests struct{ all sync.Map } // net.Conn to *guest

// guest is one of them.
type guest struct {
	conn     net.Conn
	accepted time.Time
	state    atomic.Int64 // an http.ConnState
	leaving  bool         // belongs to sayGoodbye
}

// note is the server's http.Server.ConnState.
func (g *guests) note(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		g.all.Store(conn, &guest{conn: conn, accepted: time.Now()})
	case http.StateClosed, http.StateHijacked:
		g.all.Delete(conn)
	default:
		if it, ok := g.all.Load(conn); ok {
			it.(*guest).state.Store(int64(state))
		}
	}
}

func (g *guests) each(f func(*guest)) {
	g.all.Range(func(_, it any) bool {
		f(it.(*guest))
		return true
	})
}

// leave ends a connection that has no request under way, and says whether to wait
// for its end. It may have one request more: what is in the buffers of the system
// is read, and nothing after it.
func (g *guest) leave() (wait bool) {
	state := http.ConnState(g.state.Load())
	if g.leaving || state == http.StateNew && time.Since(g.accepted) < lastCall {
		return true
	}
	conn := g.conn
	if t, ok := conn.(*tls.Conn); ok {
		// A handshake under way would hold up the question for the protocol.
		if state != http.StateNew && t.ConnectionState().NegotiatedProtocol == "h2" {
			return false // Shutdown tells it which requests are the last
		}
		conn = t.NetConn()
	}
	switch {
	case state == http.StateActive:
		return true // until it is idle or, as it is sent away, closed
	case endInput(conn):
		g.leaving = true
	case state == http.StateNew:
		_ = g.conn.Close() // Shutdown would wait for it, and not answer it
	}
	return g.leaving
}

// timedListener knows when the last connection was accepted.
type timedListener struct {
	net.Listener
	accepted atomic.Pointer[time.Time]
}

// Accept implements net.Listener.
func (l *timedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		now := time.Now()
		l.accepted.Store(&now)
	}
	return conn, err
}

func (l *timedListener) acceptedWithin(d time.Duration) bool {
	last := l.accepted.Load()
	return last != nil && time.Since(*last) < d
}
