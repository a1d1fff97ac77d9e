package otlp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rollcall-go/rollcall/internal/testutil"
)

// all traces everything to an endpoint.
func all(endpoint string) Options {
	o := Options{
		ServiceName: "app", Sampling: DefaultSamplingProperties(), Export: DefaultExportProperties(),
		Logger: slog.New(slog.DiscardHandler),
	}
	o.Sampling.Sampling.Probability, o.Export.Endpoint = 1, endpoint
	return o
}

// started is a tracer that runs until the test ends.
func started(t *testing.T, o Options) *Tracer {
	t.Helper()
	tracer, err := New(o)
	require.NoError(t, err)
	require.NoError(t, tracer.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, tracer.Stop(ctx(t))) })
	return tracer
}

// spans makes and ends some.
func (t *Tracer) spans(n int) {
	for range n {
		_, s := t.Provider().Tracer("test").Start(context.Background(), "work")
		s.End()
	}
}

func TestTracer_SendsHeadersCompressed(t *testing.T) {
	collector := newCollector(t)
	o := all(collector.URL)
	o.ServiceName = ""
	o.Export.Headers = map[string]string{"x-scope-orgid": " tenant "}
	o.Export.Compression = CompressionGzip
	tracer := started(t, o)
	tracer.spans(3)
	require.NoError(t, tracer.Stop(t.Context()))
	require.NoError(t, tracer.Stop(t.Context()), "a second stop does nothing")
	tracer.spans(1)
	require.Len(t, collector.received(), 3)
	require.Equal(t, "unknown_service", collector.received()[0].service)
	require.Equal(t, "tenant", collector.requests[0].Header.Get("X-Scope-Orgid"))
	require.Equal(t, "gzip", collector.requests[0].Header.Get("Content-Encoding"))
}

// TestTracer_TheEnvironmentOfOpenTelemetryHasNoSay: what is configured here is
// not changed by variables that are read behind the configuration's back.
func TestTracer_TheEnvironmentOfOpenTelemetryHasNoSay(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-other=1")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	t.Setenv("OTEL_SERVICE_NAME", "other")
	collector := newCollector(t)
	tracer := started(t, all(collector.URL))
	tracer.spans(1)
	require.NoError(t, tracer.Stop(t.Context()))
	require.Len(t, collector.received(), 1)
	require.Equal(t, "app", collector.received()[0].service)
	require.Empty(t, collector.requests[0].Header.Get("X-Other"))
	require.Empty(t, collector.requests[0].Header.Get("Content-Encoding"))
}

// TestTracer_ACollectorThatDoesNotAnswerHoldsNobodyUp: making spans never waits,
// and a stop is over when its time is, with everything joined (TestMain).
func TestTracer_ACollectorThatDoesNotAnswerHoldsNobodyUp(t *testing.T) {
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "3600000") // nothing but the stop ends it
	asked := make(chan struct{}, 100)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	o := all(silent.URL)
	o.Export.Timeout = time.Hour
	var log bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	tracer := started(t, o)
	tracer.spans(10_000) // more than are queued
	<-asked
	require.NoError(t, tracer.Stop(t.Context()))
	require.Contains(t, log.String(), "spans were not exported and are lost")

	given := started(t, o)
	given.spans(1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, given.Stop(over), "no time is no time")
}

func TestTracer_ACollectorThatIsAwayIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	o := all("http://" + testutil.Refusing(t).String())
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	tracer, err := New(o)
	require.NoError(t, err)
	require.NoError(t, tracer.client.Start(t.Context()))
	for range 100 {
		require.NoError(t, tracer.exporter.ExportSpans(t.Context(), tracetest.SpanStubs{{Name: "a"}, {Name: "b"}}.Snapshots()))
	}
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.NoError(t, tracer.exporter.Shutdown(t.Context()))
	require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "spans=198", "none is forgotten")
}

func TestTracer_AnAnswerIsLoggedInPart(t *testing.T) {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "first\n"+strings.Repeat("long ", 1000), http.StatusBadRequest)
	}))
	t.Cleanup(broken.Close)
	var log bytes.Buffer
	o := all(broken.URL)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	tracer := started(t, o)
	tracer.spans(1)
	require.NoError(t, tracer.Stop(t.Context()))
	require.Contains(t, log.String(), "400 Bad Request")
	require.Less(t, log.Len(), 700)
}

func TestNew_NeedsAnEndpoint(t *testing.T) {
	_, err := New(Options{})
	require.ErrorContains(t, err, "Export.Endpoint is required")
	_, err = New(all("collector"))
	require.ErrorContains(t, err, "endpoint: must be a URL")
}
