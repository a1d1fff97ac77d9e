package otlp

import (
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/autoconfig/autoconfigtest"
	"github.com/rollcall-go/rollcall/loadbalance"
)

const (
	keyEndpoint    = "management.otlp.tracing.endpoint"
	keyProbability = "management.tracing.sampling.probability"
)

// traced is the module with a collector that gets every trace.
func traced(endpoint string) fx.Option {
	return autoconfig.Options(Module, autoconfig.Property(keyEndpoint, endpoint), autoconfig.Property(keyProbability, 1))
}

// orders is an application with a route.
func orders(e *gin.Engine) {
	e.GET("/orders/:id", func(c *gin.Context) { c.String(http.StatusOK, c.Param("id")) })
}

// shop calls the orders by name.
func shop(e *gin.Engine, client *loadbalance.HTTPClient) {
	e.GET("/show/:id", func(c *gin.Context) {
		req, err := http.NewRequestWithContext(c.Request.Context(), http.MethodGet, "http://orders/orders/"+c.Param("id"), nil)
		if err != nil {
			_ = c.AbortWithError(http.StatusInternalServerError, err)
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			_ = c.AbortWithError(http.StatusBadGateway, err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body)
		c.String(resp.StatusCode, string(body))
	})
}

func TestModule_OneTraceFromOneApplicationToTheNext(t *testing.T) {
	collector := newCollector(t)
	fleet := autoconfigtest.NewFleet()
	behind := fleet.Start(t, traced(collector.URL+"/v1/traces"), fx.Invoke(orders), autoconfig.Property("application.name", "orders"))
	front := fleet.Start(t, traced(collector.URL), fx.Invoke(shop), autoconfig.Property("application.name", "shop"))

	const traceID, parentID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+"/show/7?secret=x", nil)
	require.NoError(t, err)
	req.Header.Set("Traceparent", "00-"+traceID+"-"+parentID+"-01")
	resp, err := front.Client.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "7", string(body))
	front.Stop(t) // which sends what there is
	behind.Stop(t)

	outer := collector.one("GET /show/:id", tracepb.Span_SPAN_KIND_SERVER)
	call := collector.one("GET orders", tracepb.Span_SPAN_KIND_CLIENT)
	inner := collector.one("GET /orders/:id", tracepb.Span_SPAN_KIND_SERVER)
	require.Equal(t, []string{"shop", "shop", "orders"}, []string{outer.service, call.service, inner.service})
	require.Equal(t, "/orders/:id", text(inner.Attributes, "http.route"))
	for _, s := range []span{outer, call, inner} {
		require.Equal(t, traceID, hex.EncodeToString(s.TraceId), s.Name)
	}
	require.Equal(t, parentID, hex.EncodeToString(outer.ParentSpanId))
	require.Equal(t, outer.SpanId, call.ParentSpanId)
	require.Equal(t, call.SpanId, inner.ParentSpanId)
	for _, a := range outer.Attributes {
		require.NotContains(t, a.Value.GetStringValue(), "secret", "a query may hold credentials")
	}
	for _, r := range collector.requests {
		require.Equal(t, "/v1/traces", r.URL.Path)
		require.Equal(t, "application/x-protobuf", r.Header.Get("Content-Type"))
	}
}

func TestModule_SamplesAsConfiguredAndAsTheCallerDecided(t *testing.T) {
	collector := newCollector(t)
	app := autoconfigtest.Start(t, traced(collector.URL), autoconfig.Property(keyProbability, 0), fx.Invoke(orders))
	ask := func(traceparent string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, app.URL+"/orders/1", nil)
		require.NoError(t, err)
		req.Header.Set("Traceparent", traceparent)
		resp, err := app.Client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	ask("")
	ask("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	ask("00-11111111111111111111111111111111-b7ad6b7169203331-01")
	app.Stop(t)
	require.Len(t, collector.received(), 1)
	require.Equal(t, "11111111111111111111111111111111", hex.EncodeToString(collector.received()[0].TraceId))
}

func TestModule_OffIsNothing(t *testing.T) {
	collector := newCollector(t)
	for name, off := range map[string]fx.Option{
		"no endpoint": autoconfig.Property(keyProbability, 1),
		"switched off": autoconfig.Options(
			autoconfig.Property(keyEndpoint, collector.URL), autoconfig.Property("management.tracing.enabled", false)),
	} {
		t.Run(name, func(t *testing.T) {
			var provider trace.TracerProvider
			app := autoconfigtest.Start(t, Module, off, fx.Invoke(orders), fx.Populate(&provider))
			require.IsType(t, noop.TracerProvider{}, provider)
			status, _ := app.Get(t, "/orders/1")
			require.Equal(t, http.StatusOK, status)
			app.Stop(t)
			require.Empty(t, collector.requests)
		})
	}
}

func TestModule_MistakesStopTheStart(t *testing.T) {
	for key, values := range map[string][]any{
		keyEndpoint: {
			"collector:4318", "localhost", "grpc://collector:4317", "http://", "http:///v1/traces", "://",
			"http://user:hush@collector:4318", "http://collector:4318/v1/traces?x=y", "http://collector:4318/#x",
		},
		keyProbability:                        {-0.1, 1.1, "many"},
		"management.otlp.tracing.timeout":     {"0s", "-1s", "soon"},
		"management.otlp.tracing.compression": {"zip", "GZIP2"},
		"management.otlp.tracing.headers":     {map[string]string{"a b": "c"}, map[string]string{"A": "b\r\nC: d"}},
	} {
		for _, value := range values {
			_, err := autoconfig.New(Module, autoconfig.ConfigYAML("{}"), autoconfig.Logger(slog.New(slog.DiscardHandler)),
				autoconfig.Default("application.name", "app"), autoconfig.Property(key, value))
			var mistake *autoconfig.ConfigError
			require.ErrorAs(t, err, &mistake, "%s: %v", key, value)
			require.Contains(t, err.Error(), key)
			require.NotContains(t, err.Error(), "hush")
		}
	}
}

// TestModule_NothingRunsBeforeTheStart builds an application that is never
// started: TestMain would see what it left.
func TestModule_NothingRunsBeforeTheStart(t *testing.T) {
	_, err := autoconfig.New(traced("http://127.0.0.1:1"), autoconfig.ConfigYAML("{}"),
		autoconfig.Logger(slog.New(slog.DiscardHandler)), autoconfig.Default("application.name", "app"),
		autoconfig.Property("cloud.discovery.enabled", false))
	require.NoError(t, err)
}

// ctx is for stops that outlast their test's own.
func ctx(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }
