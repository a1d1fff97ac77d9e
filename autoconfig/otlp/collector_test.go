package otlp

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector takes OTLP over HTTP as a collector of OpenTelemetry does.
type collector struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	spans    []span
	requests []*http.Request
	status   int // of every answer, 200 when 0
}

// span is one that was received, with the service it comes from.
type span struct {
	*tracepb.Span
	service string
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if !assert.NoError(c.t, err) {
			return
		}
		body = unzipped
	}
	raw, err := io.ReadAll(body)
	assert.NoError(c.t, err)
	var export coltracepb.ExportTraceServiceRequest
	assert.NoError(c.t, proto.Unmarshal(raw, &export))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	if c.status != 0 {
		http.Error(w, "not today", c.status)
		return
	}
	for _, of := range export.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, span{s, text(of.Resource.Attributes, "service.name")})
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// received returns the spans there are so far.
func (c *collector) received() []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// one returns the only span of a name and kind.
func (c *collector) one(name string, kind tracepb.Span_SpanKind) span {
	c.t.Helper()
	var found []span
	for _, s := range c.received() {
		if s.Name == name && s.Kind == kind {
			found = append(found, s)
		}
	}
	require.Len(c.t, found, 1, "%s %s among %v", kind, name, c.received())
	return found[0]
}

// text is the value of an attribute, "" without it.
func text(attributes []*commonpb.KeyValue, key string) string {
	for _, a := range attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}
