package push

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// TestSB02_PushOverRealSockets sends over both kinds of loopback address and
// takes the acknowledgements from there.
func TestSB02_PushOverRealSockets(t *testing.T) {
	for _, ip := range []string{"127.0.0.1", "::1"} {
		t.Run(ip, func(t *testing.T) {
			client, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(ip)})
			if err != nil {
				t.Skipf("this machine has no %s: %v", ip, err)
			}
			defer func() { _ = client.Close() }()
			conn, err := Listen("")
			require.NoError(t, err)
			st := &state{}
			s, err := New(Options{Conn: conn, Source: st.answer})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()

			subscribe(t, s, "svc", client.LocalAddr().(*net.UDPAddr).AddrPort())
			st.value.Store(7)
			s.Change(key("svc"))
			buf := make([]byte, 1<<16)
			require.NoError(t, client.SetReadDeadline(time.Now().Add(time.Minute)))
			n, from, err := client.ReadFromUDPAddrPort(buf)
			require.NoError(t, err)
			p, err := wire.DecodePush(buf[:n])
			require.NoError(t, err)
			require.Equal(t, data(7), p.Data)

			ack := wire.Ack{Type: wire.AckPush, LastRefTime: p.LastRefTime}.Encode()
			_, err = client.WriteToUDPAddrPort(ack, from)
			require.NoError(t, err)
			require.Eventually(t, func() bool { return s.Counts().Acked == 1 }, time.Minute, 5*time.Millisecond)
			_, pending, _, _ := s.counts()
			require.Zero(t, pending)
		})
	}
}

func TestListen_RefusesBroadcasts(t *testing.T) {
	conn, err := Listen("127.0.0.1")
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.WriteToUDPAddrPort([]byte("x"), netip.MustParseAddrPort("127.255.255.255:9"))
	require.Error(t, err)
}

func TestListen_NeedsAnAddress(t *testing.T) {
	_, err := Listen("localhost")
	require.ErrorContains(t, err, `"localhost" is not an IP address`)
}
