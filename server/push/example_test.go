package push_test

import (
	"fmt"
	"net"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/push"
)

// A subscriber hears of a change and acknowledges it.
func Example() {
	conn, err := push.Listen("127.0.0.1")
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := push.New(push.Options{
		Conn: conn,
		Source: func(k wire.ServiceKey, _ push.Shape) ([]byte, bool) {
			return fmt.Appendf(nil, `{"name":%q,"hosts":[]}`, k.ServiceName), true
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	client, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	orders := wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "SHOP", Name: "orders"}}
	port := client.LocalAddr().(*net.UDPAddr).Port
	fmt.Println(server.Subscribe(push.Request{Service: orders, ClientIP: "127.0.0.1", Port: port}))
	server.Change(orders)

	buf := make([]byte, wire.MaxDatagram)
	n, from, err := client.ReadFromUDPAddrPort(buf)
	if err != nil {
		fmt.Println(err)
		return
	}
	pushed, err := wire.DecodePush(buf[:n])
	fmt.Println(pushed.Data, err)
	_, err = client.WriteToUDPAddrPort(wire.Ack{Type: wire.AckPush, LastRefTime: pushed.LastRefTime}.Encode(), from)
	fmt.Println(err)
	// Output:
	// true
	// {"name":"SHOP@@orders","hosts":[]} <nil>
	// <nil>
}
