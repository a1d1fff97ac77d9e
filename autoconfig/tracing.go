package autoconfig

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/loadbalance"
)

// tracing puts spans around the requests that come in and the calls by name,
// where the graph has a trace.TracerProvider that is more than a no-op; without one
// there is nothing of it.
// A propagation.TextMapPropagator of the graph carries the context, by default
// that of the W3C. The metrics of otelhttp go to a metric.MeterProvider of the
// graph, by default to none: those of Prometheus are there already.
type tracing struct {
	options []otelhttp.Option // nil: off
}

type tracingParams struct {
	fx.In

	Tracers    trace.TracerProvider          `optional:"true"`
	Meters     metric.MeterProvider          `optional:"true"`
	Propagator propagation.TextMapPropagator `optional:"true"`
}

func newTracing(p tracingParams) *tracing {
	if _, off := p.Tracers.(tracenoop.TracerProvider); off || p.Tracers == nil {
		return &tracing{}
	}
	if p.Meters == nil {
		p.Meters = noop.NewMeterProvider()
	}
	if p.Propagator == nil {
		p.Propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	}
	return &tracing{[]otelhttp.Option{
		otelhttp.WithTracerProvider(p.Tracers), otelhttp.WithMeterProvider(p.Meters), otelhttp.WithPropagators(p.Propagator),
	}}
}

func (t *tracing) on() bool { return t.options != nil }

// server wraps the engine. The span is named by the method until the route is
// known.
func (t *tracing) server(next http.Handler, notTraced func(*http.Request) bool) http.Handler {
	if !t.on() {
		return next
	}
	return otelhttp.NewHandler(next, "", append(t.options,
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return boundedMethod(r.Method) }),
		otelhttp.WithFilter(func(r *http.Request) bool { return !notTraced(r) }),
	)...)
}

// nameSpan names the span of a request by its route, once gin has found it.
func nameSpan(c *gin.Context) {
	if path := c.FullPath(); path != "" {
		span := trace.SpanFromContext(c.Request.Context())
		span.SetName(boundedMethod(c.Request.Method) + " " + path)
		span.SetAttributes(attribute.String("http.route", path))
	}
	c.Next()
}

// wrap puts a span around each call by name, whatever instances it is sent to.
// The context goes along with each attempt.
func (t *tracing) wrap(c *loadbalance.HTTPClient) {
	if !t.on() {
		return
	}
	balanced := c.Transport
	name := otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
		return boundedMethod(r.Method) + " " + r.URL.Host
	})
	c.Transport = tracedTransport{otelhttp.NewTransport(balanced, append(t.options, name)...), balanced}
}

// tracedTransport can still close what it wraps.
type tracedTransport struct {
	http.RoundTripper
	balanced http.RoundTripper
}

// CloseIdleConnections closes those of the wrapped transport.
func (t tracedTransport) CloseIdleConnections() {
	if c, ok := t.balanced.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
