package loadbalance_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/static"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// discover returns a discovery client that knows order-service at an address.
func discover(address string) *discovery.Client {
	instance, err := static.ParseInstance(address)
	if err != nil {
		panic(err)
	}
	source, err := static.New(map[string][]registry.Instance{"order-service": {instance}})
	if err != nil {
		panic(err)
	}
	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}})
	if err != nil {
		panic(err)
	}
	return client
}

func ExampleNew() {
	client := discover("192.0.2.1:8080")
	defer client.Close()
	balancer, err := loadbalance.New(loadbalance.Options{Discovery: client})
	if err != nil {
		panic(err)
	}
	defer balancer.Close()

	chosen, err := balancer.Choose(context.Background(), balancer.ID("order-service"))
	if err != nil {
		panic(err)
	}
	fmt.Println(chosen.Instance.Address())
	// Output: 192.0.2.1:8080
}

func ExampleNewTransport() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "you asked for", r.URL.Path)
	}))
	defer server.Close()
	client := discover(server.URL)
	defer client.Close()
	balancer, err := loadbalance.New(loadbalance.Options{Discovery: client})
	if err != nil {
		panic(err)
	}
	defer balancer.Close()

	byName := loadbalance.NewHTTPClient(loadbalance.NewTransport(balancer, nil, loadbalance.TransportOptions{}))
	defer byName.CloseIdleConnections()
	response, err := byName.Get("http://order-service/orders/7")
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Print(string(text))
	// Output: you asked for /orders/7
}

func ExampleLoadBalancer_Do() {
	client := discover("127.0.0.1:9")
	defer client.Close()
	balancer, err := loadbalance.New(loadbalance.Options{Discovery: client})
	if err != nil {
		panic(err)
	}
	defer balancer.Close()

	err = balancer.Do(context.Background(), balancer.ID("order-service"), func(_ context.Context, i *registry.Instance) error {
		host, port, err := net.SplitHostPort(i.Address())
		fmt.Println("talk to", host, "on", port, "in any protocol")
		return err
	})
	fmt.Println(err)
	// Output:
	// talk to 127.0.0.1 on 9 in any protocol
	// <nil>
}
