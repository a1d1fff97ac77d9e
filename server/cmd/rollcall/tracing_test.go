package main

import (
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestRollcall_TracesItsRoutes runs the server with a collector: each request is
// a span that is named by its route, in the caller's trace.
func TestRollcall_TracesItsRoutes(t *testing.T) {
	var mu sync.Mutex
	spans := map[string]*tracepb.Span{}
	var service string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		var export coltracepb.ExportTraceServiceRequest
		assert.NoError(t, proto.Unmarshal(raw, &export))
		mu.Lock()
		defer mu.Unlock()
		for _, of := range export.ResourceSpans {
			service = of.Resource.String()
			for _, scope := range of.ScopeSpans {
				for _, s := range scope.Spans {
					spans[s.Name] = s
				}
			}
		}
	}))
	t.Cleanup(collector.Close)
	t.Setenv("MANAGEMENT_OTLP_TRACING_ENDPOINT", collector.URL)
	t.Setenv("MANAGEMENT_TRACING_SAMPLING_PROBABILITY", "1")
	cmd, url := serve(t)
	const traceID, parentID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, request := range [][2]string{
		{"POST", "/v1/ns/instance?serviceName=s&ip=192.0.2.7&port=80"},
		{"PUT", "/v1/ns/instance/beat?serviceName=s&ip=192.0.2.7&port=80"},
		{"GET", "/v1/ns/instance/list?serviceName=s"},
		{"POST", "/v1/auth/login?username=u&password=hush&accessToken=none"},
		{"GET", "/v1/nothing"},
	} {
		req, err := http.NewRequest(request[0], url+request[1], nil)
		require.NoError(t, err)
		req.Header.Set("Traceparent", "00-"+traceID+"-"+parentID+"-01")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	// The server sends every few seconds. What is left at its end it may give up.
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(spans) == 5
	}, soon, 20*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	mu.Lock()
	defer mu.Unlock()
	require.Contains(t, service, `"rollcall"`)
	for _, name := range []string{"POST /v1/ns/instance", "PUT /v1/ns/instance/beat", "GET /v1/ns/instance/list", "POST /v1/auth/login", "GET"} {
		s := spans[name]
		require.NotNil(t, s, "%s is not among %v", name, spans)
		require.Equal(t, tracepb.Span_SPAN_KIND_SERVER, s.Kind)
		require.Equal(t, traceID, hex.EncodeToString(s.TraceId))
		require.Equal(t, parentID, hex.EncodeToString(s.ParentSpanId))
		require.NotContains(t, s.String(), "hush")
	}
}

// TestRollcall_ACollectorThatIsAwayChangesNothing: requests are answered, and the
// end is as fast as without.
func TestRollcall_ACollectorThatIsAwayChangesNothing(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	t.Setenv("MANAGEMENT_OTLP_TRACING_ENDPOINT", "http://"+silent.Addr().String())
	t.Setenv("MANAGEMENT_TRACING_SAMPLING_PROBABILITY", "1")
	cmd, url := serve(t)
	for range 2000 {
		resp, err := http.Get(url + "/v1/ns/operator/metrics")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 200, resp.StatusCode)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait(), "exit code 0")
}
