package autoconfig

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/fx"

	discoverymemory "github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	registrymemory "github.com/rollcall-go/rollcall/registry/memory"
)

// spans records what is traced.
type spans struct {
	embedded.TracerProvider
	mu    sync.Mutex
	ended []string // kind and name
	last  byte
}

func (s *spans) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{to: s} }

type tracer struct {
	embedded.Tracer
	to *spans
}

func (t tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	s := t.to
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	c := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{s.last}, TraceFlags: trace.FlagsSampled}
	if parent := trace.SpanContextFromContext(ctx); parent.IsValid() {
		c.TraceID = parent.TraceID()
	}
	started := trace.NewSpanStartConfig(opts...)
	span := &recorded{to: s, name: name, kind: started.SpanKind(), context: trace.NewSpanContext(c)}
	return trace.ContextWithSpan(ctx, span), span
}

func (s *spans) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.ended))
}

type recorded struct {
	noop.Span
	to      *spans
	name    string
	kind    trace.SpanKind
	context trace.SpanContext
}

func (r *recorded) SpanContext() trace.SpanContext { return r.context }
func (r *recorded) IsRecording() bool              { return true }
func (r *recorded) SetName(name string)            { r.name = name }

func (r *recorded) End(...trace.SpanEndOption) {
	r.to.mu.Lock()
	defer r.to.mu.Unlock()
	r.to.ended = append(r.to.ended, r.kind.String()+" "+r.name)
}

func TestTracing_FromOneApplicationToTheNext(t *testing.T) {
	r := registrymemory.New()
	recorder := &spans{}
	traced := fx.Provide(func() trace.TracerProvider { return recorder })
	backend := Backend(r, discoverymemory.FromRegistry(r))
	var parent string
	start(t, ConfigYAML(quiet), backend, traced, fx.Invoke(func(e *gin.Engine) {
		e.GET("/orders/:id", func(c *gin.Context) { parent = c.GetHeader("traceparent") })
	}))
	var client *loadbalance.HTTPClient
	web := start(t, ConfigYAML(quiet), backend, traced, fx.Populate(&client), Property("application.name", "web"),
		fx.Invoke(func(e *gin.Engine, client *loadbalance.HTTPClient) {
			e.GET("/show", func(c *gin.Context) {
				req, err := http.NewRequestWithContext(c.Request.Context(), http.MethodGet, "http://orders/orders/1", nil)
				if err == nil {
					var resp *http.Response
					if resp, err = client.Do(req); err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
				}
				if err != nil {
					c.String(http.StatusBadGateway, err.Error())
				}
			})
		}))
	status, body := get(t, web, "/show")
	require.Equal(t, 200, status, body)
	get(t, web, "/actuator/health")
	get(t, web, "/nowhere")
	require.Equal(t, []string{"client GET orders", "server GET", "server GET /orders/:id", "server GET /show"}, recorder.all())
	require.True(t, strings.HasPrefix(parent, "00-01000000"), "one trace: %s", parent)
	client.CloseIdleConnections()
}

func TestTracing_IsNotThereWithoutAProvider(t *testing.T) {
	for _, nothing := range []trace.TracerProvider{nil, noop.NewTracerProvider()} {
		off := newTracing(tracingParams{Tracers: nothing})
		mux := http.NewServeMux()
		require.Same(t, mux, off.server(mux, nil))
		client := loadbalance.NewHTTPClient(http.DefaultTransport)
		off.wrap(client)
		require.Same(t, http.DefaultTransport, client.Transport)
	}
}
