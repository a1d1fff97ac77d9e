package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/loadbalance/gateway"
)

func ExampleNew() {
	orders := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "orders was asked for", r.URL.Path)
	}))
	defer orders.Close()
	source := memory.New()
	source.Put(at("order-service", orders.Listener.Addr().String()))
	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	balancer, err := loadbalance.New(loadbalance.Options{Discovery: client})
	if err != nil {
		panic(err)
	}
	defer balancer.Close()
	transport := loadbalance.NewTransport(balancer, nil, loadbalance.TransportOptions{})
	defer transport.CloseIdleConnections()

	gate, err := gateway.New(gateway.Options{
		Transport:  transport,
		Properties: gateway.Properties{Services: []string{"order-service"}},
	})
	if err != nil {
		panic(err)
	}
	engine := gin.New()
	engine.NoRoute(gate.Handle)
	web := httptest.NewServer(engine)
	defer web.Close()

	for _, path := range []string{"/order-service/orders/7", "/other-service/"} {
		resp, err := web.Client().Get(web.URL + path)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Printf("%d %s", resp.StatusCode, body)
	}
	// Output:
	// 200 orders was asked for /orders/7
	// 404 there is no such service here
}
