package push

import (
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// network is an in-memory UDP socket: what the server sends is kept, and what
// clients send arrives at once.
type network struct {
	in     chan packet
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	sent map[netip.AddrPort][]datagram
	// react is called with each datagram that was sent, on the sender's goroutine.
	react func(to netip.AddrPort, d datagram)
	// fail makes sending fail.
	fail error
}

type packet struct {
	from netip.AddrPort
	data []byte
}

type datagram struct {
	at   time.Time
	push wire.Push
	size int
}

func newNetwork() *network {
	return &network{
		in:     make(chan packet, 1024),
		closed: make(chan struct{}),
		sent:   make(map[netip.AddrPort][]datagram),
	}
}

func (n *network) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	select {
	case p := <-n.in:
		return copy(b, p.data), p.from, nil
	case <-n.closed:
		return 0, netip.AddrPort{}, net.ErrClosed
	}
}

func (n *network) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return 0, n.fail
	}
	p, err := wire.DecodePush(b)
	if err != nil {
		return 0, err
	}
	d := datagram{time.Now(), p, len(b)}
	n.sent[to] = append(n.sent[to], d)
	if n.react != nil {
		n.react(to, d)
	}
	return len(b), nil
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// to returns what was sent to an address so far.
func (n *network) to(addr netip.AddrPort) []datagram {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]datagram(nil), n.sent[addr]...)
}

func (n *network) ack(from netip.AddrPort, sequence int64) {
	n.in <- packet{from, []byte(`{"type":"push-ack","lastRefTime":"` + strconv.FormatInt(sequence, 10) + `","data":""}`)}
}

// ackFrom makes the given addresses acknowledge whatever they are sent.
func (n *network) ackFrom(addrs ...netip.AddrPort) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.react = func(to netip.AddrPort, d datagram) {
		for _, a := range addrs {
			if a == to {
				n.ack(to, d.push.LastRefTime)
			}
		}
	}
}

// state is a Source whose answer is a number that a test counts up.
type state struct{ value atomic.Int64 }

func (s *state) answer(_ wire.ServiceKey, shape Shape) ([]byte, bool) {
	return []byte(`{"value":` + strconv.FormatInt(s.value.Load(), 10) + `,"clusters":"` + shape.Clusters + `"}`), true
}

// data is what the source answers for a value and no cluster list.
func data(value int) string { return `{"value":` + strconv.Itoa(value) + `,"clusters":""}` }

func start(t *testing.T, n *network, source Source, change ...func(*Options)) *Server {
	t.Helper()
	o := Options{Conn: n, Source: source}
	for _, f := range change {
		f(&o)
	}
	s, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func key(name string) wire.ServiceKey {
	return wire.ServiceKey{
		Namespace:   wire.PublicNamespace,
		ServiceName: wire.ServiceName{Group: wire.DefaultGroup, Name: name},
	}
}

func addr(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }

func subscribe(t *testing.T, s *Server, service string, a netip.AddrPort) {
	t.Helper()
	require.True(t, s.Subscribe(Request{Service: key(service), ClientIP: a.Addr().String(), Port: int(a.Port()), Agent: "test"}))
}

func (s *Server) counts() (subscriptions, pending, clients, services int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.alive.len(), len(s.pending), len(s.table.clients), len(s.table.services)
}
