// Package httpserver makes every HTTP server of this module: the limits that keep
// clients from holding what they do not use (server case SB-21), and the log of
// what goes wrong with connections, which clients must not be able to fill
// (SB-23).
//
// Here belongs what holds for each port, whatever is served on it. Here does not
// belong how many connections or requests a port takes, when it is ready, and how it
// ends.
package httpserver

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The limits of every server. Bodies and answers have none here, as only the
// handlers know what they take: see [BoundTime].
const (
	// HeaderTimeout bounds a TLS handshake, the reading of a request's header, and
	// of a body that comes to no handler.
	HeaderTimeout = 10 * time.Second
	// idleTimeout is how long a connection stays open between two requests.
	idleTimeout = 60 * time.Second
	// maxHeaderBytes bounds a request's header.
	maxHeaderBytes = 64 << 10
	// maxStreams bounds the requests at the same time of one HTTP/2 connection.
	maxStreams = 100

	// BodyTimeout and AnswerTimeout are those of BoundTime.
	BodyTimeout   = 10 * time.Second
	AnswerTimeout = 30 * time.Second

	pingAfter   = 30 * time.Second // of silence on an HTTP/2 connection
	pingTimeout = 15 * time.Second
)

// Server is an [http.Server] with limits. Close or Shutdown and Close end it.
type Server struct {
	*http.Server
	errors *errorLog
}

// New returns a server that does not listen yet. A nil logger is silence.
func New(h http.Handler, logger *slog.Logger) *Server {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	errors := newErrorLog(logger)
	return &Server{errors: errors, Server: &http.Server{
		Handler:           begin(h),
		ReadHeaderTimeout: HeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams,
			SendPingTimeout:      pingAfter,
			PingTimeout:          pingTimeout,
			WriteByteTimeout:     AnswerTimeout,
		},
		// Left to net/http, its handler waits for a body that may never come.
		DisableGeneralOptionsHandler: true,
		ConnState:                    boundUnhandled,
		ErrorLog:                     errors.log,
	}}
}

// Close closes all connections and tells the rest of what the log left out.
func (s *Server) Close() error {
	err := s.Server.Close()
	s.errors.samples.Close()
	return err
}

// boundUnhandled gives the rest of a request a deadline: net/http answers some by
// itself, such as those with an expectation it does not know, and would wait for
// their bodies for ever. Those that come to a handler lose it again.
func boundUnhandled(conn net.Conn, state http.ConnState) {
	if state != http.StateActive {
		return
	}
	if t, ok := conn.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol == "h2" {
		return // it has many requests at the same time
	}
	_ = conn.SetReadDeadline(time.Now().Add(HeaderTimeout))
}

// begin takes the deadline of boundUnhandled off.
func begin(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 {
			if c, ok := w.(interface{ SetReadDeadline(time.Time) error }); ok {
				_ = c.SetReadDeadline(time.Time{})
			}
		}
		h.ServeHTTP(w, r)
	})
}

// BoundTime limits the time for the answer to a request, and that for its body
// whether or not somebody reads it: the server itself waits for what is left of
// one before it answers. Every request sets the limits anew; the server takes
// that of reading off again before the next request. Where a connection has no
// deadlines there is nothing to limit.
func BoundTime(w http.ResponseWriter, r *http.Request) {
	now, connection := time.Now(), http.NewResponseController(w)
	_ = connection.SetWriteDeadline(now.Add(AnswerTimeout))
	if r.ContentLength != 0 {
		_ = connection.SetReadDeadline(now.Add(BodyTimeout))
	}
}
