package push

import (
	"net"
	"net/netip"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// sink is a socket that takes everything and answers nothing.
type sink struct{ closed chan struct{} }

func (s sink) ReadFromUDPAddrPort([]byte) (int, netip.AddrPort, error) {
	<-s.closed
	return 0, netip.AddrPort{}, net.ErrClosed
}
func (s sink) WriteToUDPAddrPort(b []byte, _ netip.AddrPort) (int, error) { return len(b), nil }
func (s sink) Close() error                                               { close(s.closed); return nil }

func benchServer(b testing.TB) *Server {
	answer := []byte(`{"hosts":[]}`)
	s, err := New(Options{
		Conn:        sink{make(chan struct{})},
		Source:      func(wire.ServiceKey, Shape) ([]byte, bool) { return answer, true },
		RatePerHost: 1 << 30,
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

// BenchmarkSubscribe is what a poll of a known subscriber costs.
func BenchmarkSubscribe(b *testing.B) {
	s := benchServer(b)
	requests := make([]Request, 1000)
	for i := range requests {
		requests[i] = Request{Service: key(strconv.Itoa(i)), ClientIP: "127.0.0.1", Port: 50000}
		s.Subscribe(requests[i])
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s.Subscribe(requests[i%len(requests)])
		i++
	}
}

func TestSubscribe_PollAllocatesNothing(t *testing.T) {
	s := benchServer(t)
	r := Request{Service: key("svc"), ClientIP: "127.0.0.1", Port: 50000}
	s.Subscribe(r)
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Subscribe(r) }))
}

// BenchmarkRound is a round to a thousand subscribers.
func BenchmarkRound(b *testing.B) {
	s := benchServer(b)
	for i := range 1000 {
		s.Subscribe(Request{Service: key("svc"), ClientIP: "127.0.0.1", Port: 1000 + i})
	}
	s.mu.Lock()
	svc := s.table.services[key("svc")]
	s.mu.Unlock()
	b.ReportAllocs()
	for b.Loop() {
		for _, d := range s.deliveries(svc, Shape{}) {
			s.send(d)
		}
	}
}
