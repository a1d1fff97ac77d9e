package nacos_test

import (
	"encoding/json"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const service = "DEFAULT_GROUP@@orders"

var orders = registry.ServiceID{Namespace: "public", Group: "DEFAULT_GROUP", Name: "orders"}

// newSource returns a source over some servers that are reached by dial.
func newSource(t *testing.T, dial testutil.DialFunc, servers []string, p nacos.Push) *nacos.Source {
	t.Helper()
	client, err := nacosclient.New(nacosclient.Options{
		Servers: servers, Transport: testutil.Transport(t, dial), Rand: func(int) int { return 0 }, RequestTimeout: time.Minute,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	s, err := nacos.NewSource(nacos.Options{Connection: nacos.Connection{Client: client}, Push: p})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// newSourceOver returns a source over a cluster with a starting server of the
// test's choice.
func newSourceOver(t *testing.T, c *testutil.Cluster, start func(n int) int) *nacos.Source {
	t.Helper()
	client, err := nacosclient.New(nacosclient.Options{Servers: c.Addrs, Transport: c.Transport(t), Rand: start})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	s, err := nacos.NewSource(nacos.Options{Connection: nacos.Connection{Client: client}})
	require.NoError(t, err)
	return s
}

func fakeInstance(ip string, port int) testutil.FakeInstance {
	return testutil.FakeInstance{IP: ip, Port: port, Weight: 1, Healthy: true, Enabled: true, Ephemeral: true}
}

// pushing is a fake server at 127.0.0.1 with a socket of its own to push from.
type pushing struct {
	*testutil.FakeNacos
	t        *testing.T
	listener *testutil.Listener
	conn     *net.UDPConn
	mu       sync.Mutex // one change and its push at a time
	sequence int64
}

func newPushing(t *testing.T) *pushing {
	t.Helper()
	p := &pushing{FakeNacos: testutil.NewFakeNacos(), t: t, listener: testutil.NewListener()}
	testutil.Serve(t, p.listener, p)
	p.conn = listenUDP(t, "127.0.0.1")
	return p
}

func listenUDP(t *testing.T, ip string) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(ip)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// source returns a source that is pushed to, and where to.
func (p *pushing) source(id registry.ServiceID) (*nacos.Source, *net.UDPAddr) {
	p.t.Helper()
	s := newSource(p.t, p.listener.Dial, []string{"127.0.0.1:8848"}, nacos.Push{Enabled: true})
	_, err := s.Fetch(p.t.Context(), id)
	require.NoError(p.t, err)
	return s, p.target()
}

// target is where the last list request asked to be pushed to.
func (p *pushing) target() *net.UDPAddr {
	lists := p.Requests("GET", "/ns/instance/list")
	if len(lists) == 0 {
		return nil
	}
	q := lists[len(lists)-1].Query
	port, _ := strconv.Atoi(q.Get("udpPort"))
	return &net.UDPAddr{IP: net.ParseIP(q.Get("clientIP")), Port: port}
}

// datagram returns the push of a service's current list.
func (p *pushing) datagram(kind, grouped string) []byte {
	p.sequence++
	hosts := p.Instances("public", grouped)
	if hosts == nil {
		hosts = []testutil.FakeInstance{}
	}
	list, err := json.Marshal(p.List(grouped, hosts))
	require.NoError(p.t, err)
	return wire.EncodePush(wire.Push{Type: kind, Data: string(list), LastRefTime: p.sequence})
}

// send sends a datagram and returns the acknowledgement, "" when none came
// before a datagram that is certain to be acknowledged was.
func (p *pushing) send(to *net.UDPAddr, packet []byte) string {
	p.t.Helper()
	_, err := p.conn.WriteToUDP(packet, to)
	require.NoError(p.t, err)
	_, err = p.conn.WriteToUDP([]byte(`{"type":"end","lastRefTime":777,"data":""}`), to)
	require.NoError(p.t, err)
	const end = `{"type":"unknown-ack","lastRefTime":"777","data":""}`
	first := p.receive()
	if first == end {
		return ""
	}
	if second := p.receive(); second != end {
		p.t.Fatalf("two acknowledgements: %s and %s", first, second)
	}
	return first
}

func (p *pushing) receive() string {
	p.t.Helper()
	require.NoError(p.t, p.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	buffer := make([]byte, 64<<10)
	n, _, err := p.conn.ReadFromUDP(buffer)
	require.NoError(p.t, err)
	return string(buffer[:n])
}

// addresses reduces a listing to what tests compare.
func addresses(l discovery.Listing) []string {
	all := []string{}
	for _, i := range l.Instances {
		all = append(all, i.Address())
	}
	return all
}
