package push

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestSubscribe_OnlyAddressesOfOneMachine(t *testing.T) {
	tests := []struct {
		ip   string
		port int
		want string // empty: refused
	}{
		{"127.0.0.1", 50000, "127.0.0.1:50000"},
		{"", 50000, "127.0.0.1:50000"},
		{"::1", 1, "[::1]:1"},
		{"[::1]", 65535, "[::1]:65535"},
		{"::ffff:127.0.0.1", 5, "127.0.0.1:5"},
		{"2001:db8:0:0::5", 5, "[2001:db8::5]:5"},
		{"127.0.0.1", 0, ""},
		{"127.0.0.1", -1, ""},
		{"127.0.0.1", 65536, ""},
		{"localhost", 5, ""},
		{"registry.example", 5, ""},
		{"127.1", 5, ""},
		{"0177.0.0.1", 5, ""},
		{"0.0.0.0", 5, ""},
		{"::", 5, ""},
		{"::ffff:0.0.0.0", 5, ""},
		{"255.255.255.255", 5, ""},
		{"224.0.0.1", 5, ""},
		{"239.255.255.250", 5, ""},
		{"ff02::1", 5, ""},
		{"fe80::1%eth0", 5, ""},
		{"127.0.0.1:80", 5, ""},
		{"[]", 5, ""},
		{" ", 5, ""},
	}
	for _, test := range tests {
		got, ok := clientAddress(test.ip, test.port)
		require.Equal(t, test.want != "", ok, "%q %d", test.ip, test.port)
		if ok {
			require.Equal(t, test.want, got.String())
		}
	}
}

func FuzzClientAddress(f *testing.F) {
	for _, seed := range []string{"", "127.0.0.1", "[::1]", "::ffff:255.255.255.255", "fe80::1%1", "[", "]", "[]"} {
		f.Add(seed, 1)
	}
	f.Fuzz(func(t *testing.T, ip string, port int) {
		got, ok := clientAddress(ip, port)
		if !ok {
			return
		}
		a := got.Addr()
		if !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a == broadcast || a.Zone() != "" || a.Is4In6() || got.Port() == 0 {
			t.Fatalf("%q %d became %s", ip, port, got)
		}
	})
}

func TestSubscribe_RequesterOnly(t *testing.T) {
	s := start(t, newNetwork(), (&state{}).answer, func(o *Options) { o.RequesterOnly = true })
	r := Request{Service: key("svc"), ClientIP: "127.0.0.1", Port: 5, Requester: netip.MustParseAddr("127.0.0.2")}
	require.False(t, s.Subscribe(r))
	r.Requester = netip.Addr{}
	require.False(t, s.Subscribe(r))
	r.Requester = netip.MustParseAddr("::ffff:127.0.0.1")
	require.True(t, s.Subscribe(r))
}

func TestSubscribe_IsBounded(t *testing.T) {
	s := start(t, newNetwork(), (&state{}).answer, func(o *Options) { o.MaxSubscriptions, o.MaxPerService = 30, 10 })
	accepted := func(service string, n int) (count int) {
		for i := range n {
			if s.Subscribe(Request{Service: key(service), ClientIP: "127.0.0.1", Port: 1 + i}) {
				count++
			}
		}
		return count
	}
	require.Equal(t, 10, accepted("a", 20))
	require.Equal(t, 10, accepted("a", 20), "who is in stays in")
	require.Equal(t, 10, accepted("b", 20))
	require.Equal(t, 10, accepted("c", 20))
	require.Zero(t, accepted("d", 20))

	s = start(t, newNetwork(), (&state{}).answer)
	shapes := 0
	for i := range 2 * maxShapes {
		if s.Subscribe(Request{Service: key("a"), Shape: Shape{Clusters: fmt.Sprint(i)}, ClientIP: "127.0.0.1", Port: 1}) {
			shapes++
		}
	}
	require.Equal(t, maxShapes, shapes)
}

func TestSubscribers_AreListedInAStableOrder(t *testing.T) {
	s := start(t, newNetwork(), (&state{}).answer)
	for _, a := range []netip.AddrPort{three, one, two} {
		subscribe(t, s, "b", a)
		subscribe(t, s, "b", a)
		subscribe(t, s, "a", a)
	}
	got := s.Subscribers(func(k wire.ServiceKey) bool { return k.Name == "b" })
	require.Equal(t, []Subscriber{
		{Service: key("b"), Addr: one, Agent: "test"},
		{Service: key("b"), Addr: two, Agent: "test"},
		{Service: key("b"), Addr: three, Agent: "test"},
	}, got)
	require.Len(t, s.Subscribers(func(wire.ServiceKey) bool { return true }), 6)
}
