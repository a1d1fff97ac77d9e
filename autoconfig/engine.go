package autoconfig

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/internal/logsample"
)

// newEngine returns the engine of an application that brings none: panics become
// a 500 and a log line, requests are measured, nothing is redirected, and the
// headers that proxies set are not trusted (SetTrustedProxies changes that).
func newEngine(p engineParams) (*gin.Engine, error) {
	e, err := plainEngine()
	if err != nil {
		return nil, err
	}
	measure, err := measureRequests(p.Registerer)
	if err != nil {
		return nil, err
	}
	e.Use(measure)
	if p.Tracing.on() {
		e.Use(nameSpan)
	}
	e.Use(recoverPanics(sampled(p.Lifecycle, p.Loggers.Named(loggerWeb, p.Logger))))
	return e, nil
}

const (
	// panicBurst panics are logged in a panicInterval, the others are counted: whoever
	// has found a request that causes one can send it often.
	panicBurst    = 20
	panicInterval = time.Minute
)

// sampled is a logger for what requests can cause.
func sampled(lc fx.Lifecycle, l *slog.Logger) *slog.Logger {
	samples := logsample.New(panicBurst, panicInterval)
	lc.Append(fx.StopHook(samples.Close))
	return slog.New(samples.Handler(l.Handler()))
}

type engineParams struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Registerer prometheus.Registerer
	Tracing    *tracing
	Loggers    *Loggers
	Logger     *slog.Logger
}

// plainEngine returns an engine that redirects nothing and trusts no proxy.
func plainEngine() (*gin.Engine, error) {
	if _, chosen := os.LookupEnv(gin.EnvGinMode); !chosen && gin.Mode() == gin.DebugMode {
		// The mode is gin's only global. Left alone, gin prints each route to
		// standard output; whoever sets it, in code or by GIN_MODE, keeps it.
		gin.SetMode(gin.ReleaseMode)
	}
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.ContextWithFallback = true
	return e, e.SetTrustedProxies(nil)
}

// recoverPanics answers 500 when a handler panics and logs the stack.
func recoverPanics(logger *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(r) // the handler's way to cut the connection
			}
			logger.ErrorContext(c.Request.Context(), "handler panicked",
				"method", c.Request.Method, "route", c.FullPath(), "panic", r, "stack", string(debug.Stack()))
			if c.Writer.Written() {
				panic(http.ErrAbortHandler) // the client must not take half an answer for a whole one
			}
			c.AbortWithStatus(http.StatusInternalServerError)
		}()
		c.Next()
	}
}

// measureRequests observes http_server_requests_seconds. The labels are bounded:
// the route's template stands for the path, and unknown methods are one.
func measureRequests(registerer prometheus.Registerer) (gin.HandlerFunc, error) {
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "http_server_requests_seconds",
		Help: "How long the web server took to answer, by method, route and status.",
	}, []string{"method", "uri", "status"})
	if err := registerer.Register(requests); err != nil {
		return nil, err
	}
	return func(c *gin.Context) {
		start := time.Now()
		defer func() {
			status := c.Writer.Status()
			r := recover() // only http.ErrAbortHandler comes this far
			if r != nil {
				status = http.StatusInternalServerError
			}
			requests.WithLabelValues(boundedMethod(c.Request.Method), route(c), strconv.Itoa(status)).
				Observe(time.Since(start).Seconds())
			if r != nil {
				panic(r)
			}
		}()
		c.Next()
	}, nil
}

func route(c *gin.Context) string {
	if path := c.FullPath(); path != "" {
		return path
	}
	return "UNKNOWN"
}

func boundedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	}
	return "OTHER"
}
