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
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// Bounds against senders that hold connections for nothing. Bodies have none:
// uploads and streams take what they take, their handlers know better.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 60 * time.Second
	maxHeaderBytes    = 64 << 10
)

// WebServerOptions is what a [WebServer] is built from.
type WebServerOptions struct {
	// Properties are the block server.
	Properties ServerProperties
	// Handler answers; it sees paths without the context path.
	Handler http.Handler
	// Listener is listened on instead of address and port, and closed with the
	// server; nil opens one.
	Listener net.Listener
	// Publisher is told when the server listens; nil tells nobody.
	Publisher registry.Publisher
	// OnFailure is called once when the server ends without having been stopped;
	// nil does nothing.
	OnFailure func(error)
	// Logger is nil for silence.
	Logger *slog.Logger
}

// WebServer serves the engine. Start and Stop are called once, in this order;
// the other methods are safe for concurrent use.
type WebServer struct {
	options WebServerOptions
	logger  *slog.Logger
	server  *http.Server
	served  chan struct{} // closed when Serve has returned

	cut    context.Context // done when a graceful shutdown must not wait longer
	cutNow context.CancelFunc

	mu   sync.Mutex
	addr net.Addr
}

// NewWebServer returns a server that does not listen yet.
func NewWebServer(o WebServerOptions) *WebServer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	cut, cutNow := context.WithCancel(context.Background())
	return &WebServer{
		options: o, logger: o.Logger, cut: cut, cutNow: cutNow,
		server: &http.Server{
			Handler:           mount(o.Properties.contextPath(), o.Handler),
			ReadHeaderTimeout: readHeaderTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
		},
		served: make(chan struct{}),
	}
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
		return fmt.Errorf("web server: %w", err)
	}
	s.mu.Lock()
	s.addr = ln.Addr()
	s.mu.Unlock()
	go s.serve(ln)
	s.logger.Info("web server listens", "address", ln.Addr().String(), "context-path", s.options.Properties.contextPath(),
		"tls", s.options.Properties.SSL.Enabled())
	if s.options.Publisher == nil {
		return nil
	}
	if err := s.options.Publisher.Publish(ctx, registry.WebServerStarted{Addr: ln.Addr()}); err != nil {
		// Nobody else takes a half started server back.
		_ = s.server.Close()
		<-s.served
		return err
	}
	return nil
}

func (s *WebServer) listen(ctx context.Context) (net.Listener, error) {
	if s.options.Listener != nil {
		return s.options.Listener, nil
	}
	p := s.options.Properties
	var config net.ListenConfig
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
	if errors.Is(err, http.ErrServerClosed) {
		return
	}
	s.logger.Error("web server ended unexpectedly", "error", err)
	if s.options.OnFailure != nil {
		s.options.OnFailure(err)
	}
}

// Stop ends the server as server.shutdown says and waits for its goroutine.
// Requests that outlast the graceful time are cut, which is logged, not an
// error: the application ends either way.
func (s *WebServer) Stop(ctx context.Context) error {
	if s.options.Properties.Shutdown == ShutdownGraceful {
		ctx, cancel := context.WithTimeout(ctx, s.options.Properties.ShutdownTimeout)
		defer cancel()
		release := context.AfterFunc(s.cut, cancel)
		defer release()
		start := time.Now()
		if err := s.server.Shutdown(ctx); err != nil {
			s.logger.Warn("requests were cut at shutdown", "waited", time.Since(start).Round(time.Millisecond), "error", err)
		}
	}
	err := s.server.Close()
	<-s.served
	return err
}

// Cut ends the wait of a graceful shutdown, now or when it begins.
func (s *WebServer) Cut() { s.cutNow() }

// mount returns a handler that takes the context path off each path and answers
// 404 outside of it. Several slashes at the beginning are one: a client whose
// base URL ends in a slash means the same place. Nothing is ever redirected.
func mount(contextPath string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, raw, ok := strip(contextPath, r.URL.Path, r.URL.RawPath)
		if !ok {
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
