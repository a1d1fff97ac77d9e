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

func ExampleProperties() {
	client := discover("192.0.2.1:8080")
	defer client.Close()
	p := loadbalance.DefaultProperties()
	p.Outlier.Enabled = true
	p.Clients = map[string]map[string]any{
		"order-service": {"algorithm": "p2c", "retry": map[string]any{"retryable-status-codes": "502,503"}},
	}
	balancer, err := loadbalance.New(loadbalance.Options{Discovery: client, Properties: &p})
	if err != nil {
		panic(err)
	}
	defer balancer.Close()

	chosen, err := balancer.Choose(context.Background(), balancer.ID("order-service"))
	if err != nil {
		panic(err)
	}
	chosen.Done(loadbalance.Outcome{StatusCode: http.StatusOK})
	state, _ := balancer.State(balancer.ID("order-service"))
	fmt.Println(state.Algorithm, state.Chain)

	p.Outlier.Enabled = false
	p.Subset.Size = 0
	fmt.Println(balancer.Reconfigure(p))
	// Output:
	// p2c [usable outlier same-cluster retry-aware]
	// cloud.loadbalancer.subset.size: must be 1 or more
}

func ExampleRequestStage() {
	client := discover("192.0.2.1:8080")
	defer client.Close()
	tenant := loadbalance.RequestStage("tenant",
		func(r *loadbalance.Request) string { return r.Header.Get("X-Tenant") },
		func(i *registry.Instance) string { return i.Metadata["tenant"] },
		false)
	p := loadbalance.DefaultProperties()
	p.Chain = []string{loadbalance.StageUsable, "tenant", loadbalance.StageZone}
	balancer, err := loadbalance.New(loadbalance.Options{
		Discovery: client, Properties: &p, Stages: []loadbalance.Stage{tenant},
	})
	if err != nil {
		panic(err)
	}
	defer balancer.Close()

	chosen, err := balancer.ChooseFor(context.Background(), loadbalance.Request{
		Service: balancer.ID("order-service"),
		Header:  http.Header{"X-Tenant": {"acme"}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(chosen.Instance.Address())
	// Output: 192.0.2.1:8080
}
