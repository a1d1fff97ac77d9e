package probe_test

import (
	"fmt"
	"net"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/probe"
)

func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer func() { _ = listener.Close() }()

	quick := probe.Interval{Max: 100 * time.Millisecond}
	p, err := probe.New(probe.Options{
		Params: func() probe.Params { return probe.Params{Enabled: true, CheckTimes: 2, TCP: quick} },
	})
	if err != nil {
		panic(err)
	}
	defer func() { _ = p.Close() }()
	told := make(chan probe.Result, 1)
	p.OnResult(func(r probe.Result) error {
		told <- r
		return nil
	})

	checker, err := probe.ParseChecker(`{"type":"TCP"}`)
	if err != nil {
		panic(err)
	}
	cluster := probe.Cluster{
		Service: wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: "orders"}},
		Name:    "DEFAULT",
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := p.Set(cluster, checker, 0, []probe.Target{{IP: "127.0.0.1", Port: port}}); err != nil {
		panic(err)
	}
	r := <-told
	fmt.Println(r.Cluster.Service, r.IP, r.Healthy)
	// Output: public/DEFAULT_GROUP@@orders 127.0.0.1 true
}
