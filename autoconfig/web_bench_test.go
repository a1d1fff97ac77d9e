package autoconfig

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// What stands before the engine costs nothing without a context path, and a copy
// of the request and its URL with one.
func TestMount_Allocations(t *testing.T) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	r := httptest.NewRequest(http.MethodGet, "/nacos/v1/ns/instance/list", nil)
	w := httptest.NewRecorder()
	for contextPath, want := range map[string]float64{"": 0, "/nacos": 2} {
		h := mount(contextPath, nothing)
		require.Equal(t, want, testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }), contextPath)
	}
}

// BenchmarkEngine is a request through the context path, the middlewares and gin
// to a handler that does nothing.
func BenchmarkEngine(b *testing.B) {
	e, err := newEngine(engineParams{
		Registerer: prometheus.NewRegistry(), Tracing: &tracing{},
		Loggers: newLoggers(slog.DiscardHandler), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	e.GET("/users/:id", func(*gin.Context) {})
	h := mount("/shop", e)
	r := httptest.NewRequest(http.MethodGet, "/shop/users/1", nil)
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
