package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/loadbalance"
)

// Options configures a [Gateway].
type Options struct {
	// Properties say what is let through.
	Properties Properties
	// Transport calls by name: a [loadbalance.Transport], or one around it, such as
	// otelhttp's. Its balancer bounds how many names that nobody has registered are
	// asked for.
	Transport http.RoundTripper
	// Logger tells of calls that failed; nil does not.
	Logger *slog.Logger
}

// Gateway is a handler for net/http ([Gateway.ServeHTTP]) and for gin
// ([Gateway.Handle]). It is safe for concurrent use.
//
// A request goes on as it came, method, query, body, trailers and all, in the
// caller's time: when the caller leaves, so does the call. Hop-by-hop headers end
// here, X-Forwarded-For, -Host, -Proto and -Prefix are set, and the Host header is
// the instance's. Answers are passed on as they come where they are streams, and
// switched protocols such as WebSocket are carried both ways. What may be tried at
// another instance is the transport's decision.
//
// The gateway's own answers are 404 for what is not let through, 503 (or 404) for
// a service without instances, 504 for one that took too long, 400 where the
// chain demands an API version, 413 where a middleware bounds the body, and 502
// for all other failures.
type Gateway struct {
	properties Properties
	allowed    map[string]bool
	proxy      *httputil.ReverseProxy
	log        *slog.Logger
}

// New returns a gateway. The error names everything that is wrong with the
// options.
func New(o Options) (*Gateway, error) {
	errs := []error{o.Properties.Validate()}
	if o.Transport == nil {
		errs = append(errs, errors.New("no transport"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("gateway options: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{properties: o.Properties, allowed: make(map[string]bool, len(o.Properties.Services)), log: o.Logger}
	for _, name := range o.Properties.Services {
		g.allowed[name] = true
	}
	g.proxy = &httputil.ReverseProxy{
		Rewrite: g.rewrite, Transport: o.Transport, ErrorHandler: g.failed, BufferPool: newBuffers(),
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	return g, nil
}

// Handle is the gateway as a handler of gin, for NoRoute or for routes below the
// prefix.
func (g *Gateway) Handle(c *gin.Context) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			// The answer broke off. gin's own recovery would end it as if it were
			// whole.
			cut(c.Writer)
		}
		panic(r)
	}()
	g.ServeHTTP(c.Writer, c.Request)
	// gin's NoRoute would add words of its own to a 404 without a body.
	c.Writer.WriteHeaderNow()
	c.Abort()
}

// cut closes the connection of an HTTP/1 request; of later versions the panic that
// follows ends the stream.
func cut(w gin.ResponseWriter) {
	inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
	if !ok {
		return
	}
	if conn, _, err := http.NewResponseController(inner.Unwrap()).Hijack(); err == nil {
		_ = conn.Close() // nobody is left to tell
	}
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, ok := g.target(r.URL)
	if !ok {
		answer(w, http.StatusNotFound, "there is no such service here")
		return
	}
	ctx := context.WithValue(r.Context(), targetKey{}, t)
	// Where the header is trusted and there, the balancer reads the address there.
	if !g.properties.TrustForwarded || r.Header.Get(forwardedFor) == "" {
		if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
			ctx = loadbalance.WithClientAddr(ctx, addr.Addr().Unmap())
		}
	}
	g.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// target is where a request goes.
type target struct {
	service string
	// path is what is sent on, escaped as it came; prefix is what was cut off.
	path, prefix string
}

type targetKey struct{}

// target reads the service and the rest out of a path; false when it is not let
// through.
func (g *Gateway) target(u *url.URL) (target, bool) {
	path := u.EscapedPath()
	rest, ok := strings.CutPrefix(path, g.properties.Prefix)
	if !ok || !strings.HasPrefix(rest, "/") {
		return target{}, false
	}
	segment, rest, more := strings.Cut(rest[1:], "/")
	service, err := url.PathUnescape(segment)
	if err != nil || !isServiceName(service) || !g.properties.AllServices && !g.allowed[service] {
		return target{}, false
	}
	if g.properties.KeepPrefix {
		return target{service: service, path: path}, true
	}
	prefix := path
	if more {
		prefix = path[:len(path)-len(rest)-1]
	}
	return target{service: service, path: "/" + rest, prefix: prefix}, true
}

const (
	forwardedFor    = "X-Forwarded-For"
	forwardedPrefix = "X-Forwarded-Prefix"
)

// rewrite makes the request that goes to the transport.
func (g *Gateway) rewrite(r *httputil.ProxyRequest) {
	t := r.In.Context().Value(targetKey{}).(target)
	u := &url.URL{Scheme: "lb", Host: t.service, RawQuery: r.In.URL.RawQuery, ForceQuery: r.In.URL.ForceQuery}
	if group, name, ok := strings.Cut(t.service, groupSeparator); ok {
		u.Host, u.User = name, url.User(group+"@")
	}
	// The path was parsed before, so what is cut out of it can be.
	u.Path, _ = url.PathUnescape(t.path)
	u.RawPath = t.path
	r.Out.URL, r.Out.Host = u, ""
	prefix := t.prefix
	if g.properties.TrustForwarded {
		for _, name := range []string{"Forwarded", forwardedFor, "X-Forwarded-Host", "X-Forwarded-Proto"} {
			if values := r.In.Header[name]; len(values) > 0 {
				r.Out.Header[name] = values
			}
		}
		prefix = r.In.Header.Get(forwardedPrefix) + prefix
	} else {
		forgetOrigin(r.Out.Header)
	}
	host, proto := r.Out.Header["X-Forwarded-Host"], r.Out.Header["X-Forwarded-Proto"]
	r.SetXForwarded()
	if len(host) > 0 {
		r.Out.Header["X-Forwarded-Host"] = host
	}
	if len(proto) > 0 {
		r.Out.Header["X-Forwarded-Proto"] = proto
	}
	r.Out.Header.Del(forwardedPrefix)
	if prefix != "" {
		r.Out.Header.Set(forwardedPrefix, prefix)
	}
}

// forgetOrigin deletes what a caller may claim of where a request comes from and
// how it came.
func forgetOrigin(h http.Header) {
	for name := range h {
		switch {
		case strings.HasPrefix(name, "X-Forwarded-"), name == "Forwarded", name == "X-Real-Ip",
			name == "X-Client-Ip", name == "True-Client-Ip":
			delete(h, name)
		}
	}
}

// failed answers for a call without a response.
func (g *Gateway) failed(w http.ResponseWriter, r *http.Request, err error) {
	t, _ := r.Context().Value(targetKey{}).(target)
	status, text := g.tell(t, err)
	level := slog.LevelWarn
	if errors.Is(r.Context().Err(), context.Canceled) {
		level = slog.LevelDebug // the caller has left
	}
	g.log.Log(r.Context(), level, "call through the gateway failed", slog.String("service", t.service),
		slog.String("method", r.Method), slog.Int("status", status), slog.Any("error", err))
	answer(w, status, text)
}

// tell returns status and text for the outside.
func (g *Gateway) tell(t target, err error) (int, string) {
	var none *loadbalance.NoInstanceError
	var slow interface{ Timeout() bool }
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &none):
		if g.properties.Use404 || none.Known == 0 && none.Err == nil && !g.allowed[t.service] {
			return http.StatusNotFound, "no instance available for " + t.service
		}
		return http.StatusServiceUnavailable, "no instance available for " + t.service
	case errors.Is(err, loadbalance.ErrAPIVersion):
		return http.StatusBadRequest, loadbalance.ErrAPIVersion.Error()
	case errors.Is(err, loadbalance.ErrClosed):
		return http.StatusServiceUnavailable, "the gateway is shutting down"
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, "the request is too large"
	case errors.As(err, &slow) && slow.Timeout():
		return http.StatusGatewayTimeout, t.service + " did not answer in time"
	}
	return http.StatusBadGateway, t.service + " could not be called"
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // a caller that has left reads nothing
}

// buffers lends what answers are copied with.
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10

func newBuffers() *buffers {
	return &buffers{sync.Pool{New: func() any { return new([bufferSize]byte) }}}
}

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte { return b.pool.Get().(*[bufferSize]byte)[:] }

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.pool.Put((*[bufferSize]byte)(buffer)) }
