package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// flushTimeout bounds how long a stop waits for the last spans to be sent.
const flushTimeout = time.Second

// unknownService is the name of a service that has none (OpenTelemetry
// specification, "Semantic attributes with dedicated environment variable").
const unknownService = "unknown_service"

// Options says what a [Tracer] needs.
type Options struct {
	// ServiceName is the attribute service.name of all spans; "" is
	// unknown_service.
	ServiceName string
	// Sampling says which requests are traced.
	Sampling SamplingProperties
	// Export says where traces are sent. Its Endpoint is required.
	Export ExportProperties
	// Logger is told, at most once in a minute, when spans are lost; nil discards
	// that.
	Logger *slog.Logger
}

// Tracer makes spans and sends those that have ended to a collector, in batches
// and in the background: a collector that is slow or away costs spans and nobody's
// time. It sends between Start and Stop, which are called once each, in this
// order; Provider may be used at any time. Nothing of it is global.
type Tracer struct {
	provider  *sdktrace.TracerProvider
	client    *otlptrace.Exporter
	exporter  *exporter
	transport *http.Transport

	batcher sdktrace.SpanProcessor // nil before Start
	stop    sync.Once
}

// New returns a tracer that opens and starts nothing before [Tracer.Start].
func New(o Options) (*Tracer, error) {
	if o.Export.Endpoint == "" {
		return nil, errors.New("otlp: Export.Endpoint is required")
	}
	if err := errors.Join(o.Sampling.Validate(), o.Export.Validate()); err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	endpoint, err := o.Export.url()
	if err != nil {
		return nil, fmt.Errorf("otlp: endpoint: %w", err)
	}
	if o.ServiceName == "" {
		o.ServiceName = unknownService
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	service, err := resource.New(context.Background(), resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", o.ServiceName)))
	if err != nil {
		return nil, fmt.Errorf("otlp: describe the service: %w", err)
	}
	t := &Tracer{transport: newTransport(o.Export.Timeout)}
	t.client = otlptracehttp.NewUnstarted(clientOptions(&o.Export, endpoint, t.transport)...)
	t.exporter = newExporter(t.client, endpoint.String(), o.Logger)
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithResource(service),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Sampling.Sampling.Probability))),
	)
	return t, nil
}

// newTransport makes the exporter's own connections, so that they end with it.
func newTransport(timeout time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: timeout,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     90 * time.Second,
	}
}

// clientOptions name everything that OpenTelemetry would otherwise take from
// environment variables of its own: there is one order of sources, and it is that
// of autoconfig.
func clientOptions(p *ExportProperties, endpoint *url.URL, transport *http.Transport) []otlptracehttp.Option {
	compression := otlptracehttp.NoCompression
	if p.Compression == CompressionGzip {
		compression = otlptracehttp.GzipCompression
	}
	return []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(endpoint.String()),
		otlptracehttp.WithHeaders(p.header()),
		otlptracehttp.WithCompression(compression),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf),
		otlptracehttp.WithTimeout(p.Timeout),
		otlptracehttp.WithHTTPClient(&http.Client{Transport: transport, Timeout: p.Timeout}),
	}
}

// Provider makes the tracers. What ends before Start is not sent.
func (t *Tracer) Provider() trace.TracerProvider { return t.provider }

// Start begins to send. It does not wait for the collector.
func (t *Tracer) Start(ctx context.Context) error {
	if err := t.client.Start(ctx); err != nil {
		return fmt.Errorf("start to export traces: %w", err)
	}
	t.batcher = sdktrace.NewBatchSpanProcessor(t.exporter)
	t.provider.RegisterSpanProcessor(t.batcher)
	return nil
}

// Stop sends what has ended so far, for a second at most, and gives up the rest.
// When it returns nothing of the tracer is left running. Its error is nil: lost
// spans are logged and no reason for anything to fail. It is idempotent.
func (t *Tracer) Stop(ctx context.Context) error {
	t.stop.Do(func() {
		if t.batcher == nil {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, flushTimeout)
		defer cancel()
		defer context.AfterFunc(ctx, t.exporter.cutNow)() // the batcher would go on in the background
		_ = t.batcher.Shutdown(ctx)                       // what was not sent is counted by the exporter
		<-t.exporter.ended
		_ = t.provider.Shutdown(context.WithoutCancel(ctx)) // nothing is recorded any more
		t.transport.CloseIdleConnections()
	})
	return nil
}
