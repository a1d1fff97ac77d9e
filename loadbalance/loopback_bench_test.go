package loadbalance_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// BenchmarkLoopback is a whole call over the loopback interface, directly and by
// name. The latter is to cost 3 % more at most.
func BenchmarkLoopback(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer server.Close()
	address := netip.MustParseAddrPort(server.Listener.Addr().String())
	direct := loadbalance.NewBaseTransport(loadbalance.BaseTransportOptions{})
	defer direct.CloseIdleConnections()
	i := registry.NewInstance(orders, address.Addr().String(), int(address.Port()))
	byName := loadbalance.NewTransport(having(b, loadbalance.Options{}, i), direct, loadbalance.TransportOptions{})
	for _, c := range []struct {
		name, url string
		rt        http.RoundTripper
	}{{"direct", server.URL + "/a", direct}, {"by name", "http://orders/a", byName}} {
		b.Run(c.name, func(b *testing.B) {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, c.url, nil)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				resp, err := c.rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_ = resp.Body.Close()
			}
		})
	}
}
