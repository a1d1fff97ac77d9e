package loadbalance

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/registry"
)

// Without a base of the caller's own, each service has the connections that its
// configuration says, and a changed one has others.
func TestTransport_ConnectionsByService(t *testing.T) {
	source := memory.New()
	for _, name := range []string{"orders", "stock"} {
		source.Put(registry.NewInstance(registry.ServiceID{Name: name}, "192.0.2.1", 80))
	}
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	p := DefaultProperties()
	p.Clients = map[string]map[string]any{"orders": {"http": map[string]any{
		"connect-timeout": "5s", "response-timeout": "9s", "max-conns-per-host": "7", "max-idle-conns-per-host": "8",
	}}}
	l, err := New(Options{Discovery: c, Properties: &p})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	rt := NewTransport(l, nil, TransportOptions{})
	options := func(name string) BaseTransportOptions {
		chosen, err := l.Choose(t.Context(), l.ID(name))
		require.NoError(t, err)
		return rt.settings(chosen).http
	}
	base := func(name string) *http.Transport { return rt.baseFor(options(name)).(*http.Transport) }
	require.Equal(t, 5*time.Second, newDialer(options("orders")).Timeout)
	require.Equal(t, DefaultConnectTimeout, newDialer(options("stock")).Timeout)
	orders, stock := base("orders"), base("stock")
	require.Equal(t, 7, orders.MaxConnsPerHost)
	require.Equal(t, 8, orders.MaxIdleConnsPerHost)
	require.Equal(t, 9*time.Second, orders.ResponseHeaderTimeout)
	require.Zero(t, stock.MaxConnsPerHost)
	require.Same(t, orders, base("orders"))
	require.Same(t, stock, rt.baseFor(rt.direct()))
	p.HTTP.MaxConnsPerHost = 3
	require.NoError(t, l.Reconfigure(p))
	require.Equal(t, 3, base("stock").MaxConnsPerHost)
	require.Same(t, orders, base("orders"))
	rt.CloseIdleConnections()
}
