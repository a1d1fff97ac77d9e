package autoconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/httpserver"
	"github.com/rollcall-go/rollcall/registry"
)

// WebServerOptions is what a [WebServer] is built from.
type WebServerOptions struct {
	// Properties are the block server.
	Properties ServerProperties
	// Namespace is that of the event, "" for the application's own server.
	Namespace string
	// Handler answers; it sees paths without the context path.
	Handler http.Handler
	// Listener is listened on instead of address and port, and closed with the
	// server; nil opens one.
	Listener net.Listener
	// Wrap is put around the listener; nil for nothing.
	Wrap WrapListener
	// Publisher is told when the server listens; nil tells nobody.
	Publisher registry.Publisher
	// OnFailure is called once when the server ends without having been stopped;
	// nil does nothing.
	OnFailure func(error)
	// Logger is nil for silence.
	Logger *slog.Logger
}

// WrapListener changes how the web server's connections are accepted, such as by
// refusing some. It is called once, when the server starts. A module may provide
// one in the graph.
type WrapListener func(net.Listener) net.Listener

// WebServer serves the engine. Start is called once and Stop after it; the other
// methods are safe for concurrent use. It bounds what clients hold by doing
// nothing: headers, idle connections, and what no handler reads. Bodies and
// answers have no bound: uploads and streams take what they take, their handlers
// know better.
type WebServer struct {
	options WebServerOptions
	logger  *slog.Logger
	server  *httpserver.Server
	served  chan struct{} // closed when Serve has returned

	cut    context.Context // done when a graceful shutdown must not wait longer
	cutNow context.CancelFunc

	retired, closing, goodbye atomic.Bool

	mu       sync.Mutex
	addr     net.Addr
	opened   net.Listener // by Start itself; nil where one was given
	listener *timedListener

	guests guests
}

// NewWebServer returns a server that does not listen yet.
func NewWebServer(o WebServerOptions) *WebServer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	cut, cutNow := context.WithCancel(context.Background())
	s := &WebServer{options: o, logger: o.Logger, cut: cut, cutNow: cutNow, served: make(chan struct{})}
	s.server = httpserver.New(s.sendAway(mount(o.Properties.contextPath(), o.Handler)), o.Logger)
	changed := s.server.ConnState
	s.server.ConnState = func(conn net.Conn, state http.ConnState) {
		s.guests.note(conn, state)
		changed(conn, state)
	}
	return s
}

// Addr is where the server listens, with the port it really got; nil before it
// does.
func (s *WebServer) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// Start listens, serves and publishes registry.WebServerStarted. When it returns
// an error nothing is left listening.
func (s *WebServer) Start(ctx context.Context) error {
	if ssl := s.options.Properties.SSL; ssl.Enabled() {
		certificates, err := newCertificates(ssl, s.logger)
		if err != nil {
			return err
		}
		s.server.TLSConfig = certificates.config()
	}
	ln, err := s.listen(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name(), err)
	}
	var opened net.Listener
	if s.options.Listener == nil {
		opened = ln
	}
	if s.options.Wrap != nil {
		ln = s.options.Wrap(ln)
	}
	timed := &timedListener{Listener: ln}
	s.mu.Lock()
	s.addr, s.opened, s.listener = ln.Addr(), opened, timed
	s.mu.Unlock()
	go s.serve(timed)
	s.logger.Info(s.name()+" listens", "address", ln.Addr().String(), "context-path", s.options.Properties.contextPath(),
		"tls", s.options.Properties.SSL.Enabled())
	if s.options.Publisher == nil {
		return nil
	}
	if err := s.options.Publisher.Publish(ctx, registry.WebServerStarted{Namespace: s.options.Namespace, Addr: ln.Addr()}); err != nil {
		// Nobody else takes a half started server back.
		_ = s.server.Close()
		<-s.served
		return err
	}
	return nil
}

// name is for messages.
func (s *WebServer) name() string {
	if s.options.Namespace != "" {
		return s.options.Namespace + " server"
	}
	return "web server"
}

func (s *WebServer) listen(ctx context.Context) (net.Listener, error) {
	if s.options.Listener != nil {
		return s.options.Listener, nil
	}
	p := s.options.Properties
	var config net.ListenConfig
	config.SetMultipathTCP(false) // such sockets cannot be made deaf
	return config.Listen(ctx, "tcp", net.JoinHostPort(strings.Trim(p.Address, "[]"), strconv.Itoa(p.Port)))
}

// serve is the server's one goroutine besides those of the connections.
func (s *WebServer) serve(ln net.Listener) {
	var err error
	if s.options.Properties.SSL.Enabled() {
		err = s.server.ServeTLS(ln, "", "")
	} else {
		err = s.server.Serve(ln)
	}
	close(s.served)
	if errors.Is(err, http.ErrServerClosed) || s.closing.Load() {
		return
	}
	s.logger.Error(s.name()+" ended unexpectedly", "error", err)
	if s.options.OnFailure != nil {
		s.options.OnFailure(err)
	}
}

// Retire begins the end: the server answers as before, and every answer has the
// client close its connection, so that none is in use when the server stops. It
// does not wait and can be called again.
func (s *WebServer) Retire() { s.retired.Store(true) }

// sendAway has the clients of a server that is about to stop close their
// connections. What is to become another protocol is left alone.
func (s *WebServer) sendAway(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.retired.Load() && r.Header.Get("Upgrade") == "" {
			w.Header().Set("Connection", "close")
		}
		if s.goodbye.Load() && r.ProtoMajor == 1 {
			// The end of the input is the server's doing and no sign of a client that left.
			ctx, end := context.WithCancel(context.WithoutCancel(r.Context()))
			defer end()
			defer context.AfterFunc(s.cut, end)()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// wait returns when the time is over, or there is none for waiting.
func (s *WebServer) wait(ctx context.Context, d time.Duration) {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	case <-s.cut.Done():
	}
}

// Stop ends the server as server.shutdown says and waits for its goroutine. A
// graceful end begins with server.lame-duck, in which everything is answered.
// Requests that outlast the graceful time are cut, which is logged, not an
// error: the application ends either way. A server that never listened is
// stopped.
func (s *WebServer) Stop(ctx context.Context) error {
	if s.Addr() == nil {
		return nil
	}
	if s.options.Properties.Shutdown == ShutdownGraceful {
		s.Retire()
		s.wait(ctx, s.options.Properties.LameDuck)
		ctx, cancel := context.WithTimeout(ctx, s.options.Properties.ShutdownTimeout)
		defer cancel()
		release := context.AfterFunc(s.cut, cancel)
		defer release()
		start := time.Now()
		s.stopListening(ctx)
		s.sayGoodbye(ctx)
		if err := s.server.Shutdown(ctx); err != nil {
			s.logger.Warn("requests were cut at shutdown", "waited", time.Since(start).Round(time.Millisecond), "error", err)
		}
	}
	s.cutNow() // nothing is waited for any longer
	err := s.server.Close()
	<-s.served
	return err
}

// Cut ends the waits of a graceful shutdown, now or when it begins.
func (s *WebServer) Cut() { s.cutNow() }

// mount returns a handler that takes the context path off each path and answers
// 404 outside of it. Several slashes at the beginning are one: a client whose
// base URL ends in a slash means the same place. Nothing is ever redirected.
func mount(contextPath string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, raw, ok := strip(contextPath, r.URL.Path, r.URL.RawPath)
		if !ok {
			nobodyReads(w, r)
			http.NotFound(w, r)
			return
		}
		if path != r.URL.Path {
			inner := *r
			u := *r.URL
			u.Path, u.RawPath = path, raw
			inner.URL = &u
			r = &inner
		}
		next.ServeHTTP(w, r)
	})
}

// nobodyReads limits the wait for a body that no handler will have, and ends the
// connection with the answer: net/http would read what is left of it, for as long
// as that takes.
func nobodyReads(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(httpserver.HeaderTimeout))
}

// strip takes the context path off a path and off its encoded form.
func strip(contextPath, path, raw string) (string, string, bool) {
	path = collapse(path)
	if raw != "" {
		raw = collapse(raw)
	}
	if contextPath == "" {
		return path, raw, true
	}
	rest, ok := strings.CutPrefix(path, contextPath)
	if !ok || rest != "" && rest[0] != '/' {
		return "", "", false
	}
	if rest = collapse(rest); rest == "" {
		rest = "/"
	}
	if raw != "" {
		raw, ok = strings.CutPrefix(raw, contextPath)
		if raw = collapse(raw); !ok || raw == "" {
			raw = "" // net/url encodes the path itself then
		}
	}
	return rest, raw, true
}

// collapse makes one of several leading slashes.
func collapse(path string) string {
	for strings.HasPrefix(path, "//") {
		path = path[1:]
	}
	return path
}
