package loadbalance_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// BenchmarkLoopback is a whole call over the loopback interface, directly and by
// name.
func BenchmarkLoopback(b *testing.B) {
	for _, c := range loopback(b) {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.call(b)
			}
		})
	}
}

// BenchmarkLoopbackRatio compares the two within one run: what the machine does
// meanwhile moves a benchmark by more than there is to measure. Blocks of calls of
// both kinds take turns, in random order within each pair, over the same warm
// connections. Its ratio is the median over the pairs of the time by name to the
// time of a direct call; the budget is 1.03. One b.N is a pair.
func BenchmarkLoopbackRatio(b *testing.B) {
	const block = 20 // calls, short enough for both blocks to see the same machine
	callers := loopback(b)
	measure := func(c caller) float64 {
		began := time.Now()
		for range block {
			c.call(b)
		}
		return float64(time.Since(began))
	}
	for range 50 {
		for _, c := range callers {
			measure(c)
		}
	}
	order := rand.New(rand.NewPCG(1, 2))
	ratios := make([]float64, 0, b.N)
	b.ResetTimer()
	for range b.N {
		first := order.IntN(2)
		var took [2]float64
		took[first] = measure(callers[first])
		took[1-first] = measure(callers[1-first])
		ratios = append(ratios, took[1]/took[0])
	}
	b.StopTimer()
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(0, "ns/op") // of a pair of blocks; it says nothing
}

// caller makes calls of one kind.
type caller struct {
	name string
	call func(b *testing.B)
}

// loopback returns a direct caller and one by name over the same connections.
func loopback(b *testing.B) [2]caller {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	b.Cleanup(server.Close)
	address := netip.MustParseAddrPort(server.Listener.Addr().String())
	direct := loadbalance.NewBaseTransport(loadbalance.BaseTransportOptions{})
	b.Cleanup(direct.CloseIdleConnections)
	i := registry.NewInstance(orders, address.Addr().String(), int(address.Port()))
	byName := loadbalance.NewTransport(having(b, loadbalance.Options{}, i), direct, loadbalance.TransportOptions{})
	of := func(name, url string, rt http.RoundTripper) caller {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
		require.NoError(b, err)
		return caller{name, func(b *testing.B) {
			resp, err := rt.RoundTrip(req)
			if err != nil {
				b.Fatal(err)
			}
			_ = resp.Body.Close()
		}}
	}
	return [2]caller{of("direct", server.URL+"/a", direct), of("by name", "http://orders/a", byName)}
}
