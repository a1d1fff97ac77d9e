package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/loadbalance/gateway"
	"github.com/rollcall-go/rollcall/registry"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	goleak.VerifyTestMain(m)
}

// backend serves on the loopback for the length of a test.
func backend(t testing.TB, handler http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s host=%s\n", r.Method, r.RequestURI, r.Host)
	_ = r.Header.Write(w)
	fmt.Fprintf(w, "\n%s", body)
}

// at is an instance of a service, by its name or "GROUP@@name", at an address.
func at(service, address string) registry.Instance {
	id := registry.ServiceID{Name: service}
	if group, name, ok := strings.Cut(service, "@@"); ok {
		id = registry.ServiceID{Group: group, Name: name}
	}
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		panic(err)
	}
	return registry.NewInstance(id, addr.IP.String(), addr.Port)
}

// site is a gateway on the loopback.
type site struct {
	*httptest.Server
	source    *memory.Source
	balancer  *loadbalance.LoadBalancer
	transport *loadbalance.Transport
	log       *buffer
}

// open serves a gateway over a catalogue: by gin, under its own recovery, unless
// the engine is nil.
func open(t testing.TB, p gateway.Properties, lb loadbalance.Properties, engine *gin.Engine, instances ...registry.Instance) *site {
	t.Helper()
	s := &site{source: memory.New(), log: &buffer{}}
	for _, i := range instances {
		s.source.Put(i)
	}
	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{s.source}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	s.balancer, err = loadbalance.New(loadbalance.Options{Discovery: client, Properties: &lb})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.balancer.Close()) })
	s.transport = loadbalance.NewTransport(s.balancer, nil, loadbalance.TransportOptions{})
	t.Cleanup(s.transport.CloseIdleConnections)
	gate, err := gateway.New(gateway.Options{Properties: p, Transport: s.transport, Logger: slog.New(slog.NewTextHandler(s.log, nil))})
	require.NoError(t, err)
	var handler http.Handler = gate
	if engine != nil {
		engine.NoRoute(gate.Handle)
		handler = engine
	}
	s.Server = httptest.NewUnstartedServer(handler)
	s.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(s.log, nil), slog.LevelError)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// withGin is open with an engine as gin makes it by default.
func withGin(t testing.TB, p gateway.Properties, instances ...registry.Instance) *site {
	engine := gin.New()
	engine.Use(gin.RecoveryWithWriter(io.Discard))
	return open(t, p, loadbalance.DefaultProperties(), engine, instances...)
}

func only(services ...string) gateway.Properties { return gateway.Properties{Services: services} }

// ask sends a request to the gateway and reads the answer.
func (s *site) ask(t testing.TB, method, path string, edits ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
	require.NoError(t, err)
	for _, edit := range edits {
		edit(req)
	}
	resp, err := s.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

// buffer is a log that tests read while it is written.
type buffer = testutil.Output
