package registry_test

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/memory"
)

// An application without fx: it listens, registers under the port it got, and
// leaves the registry before it stops serving.
func ExampleNewAutoServiceRegistration() {
	ctx := context.Background()
	catalogue := memory.New()
	orders := registry.ServiceID{Name: "order-service"}

	auto, err := registry.NewAutoServiceRegistration(registry.AutoServiceRegistrationParams{
		ServiceRegistry: catalogue,
		Registration:    registry.Registration{Instance: registry.NewInstance(orders, "127.0.0.1", 0)},
		Options:         registry.DefaultAutoOptions(),
		Customizers: []registry.Customizer{{Name: "version", Customize: func(r *registry.Registration) error {
			r.Metadata = map[string]string{"version": "1.4.0"}
			return nil
		}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := &http.Server{}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()

	if err := auto.OnWebServerStarted(ctx, registry.WebServerStarted{Addr: listener.Addr()}); err != nil {
		fmt.Println(err)
	}
	if err := auto.Start(ctx); err != nil {
		fmt.Println(err)
	}
	for _, i := range catalogue.Instances(orders) {
		fmt.Println(auto.State(), i.Metadata["version"], i.Address() == listener.Addr().String())
	}

	_ = auto.Stop(ctx)
	_ = server.Shutdown(ctx)
	<-served
	fmt.Println(auto.State(), len(catalogue.Instances(orders)))
	// Output:
	// registered 1.4.0 true
	// stopped 0
}

// Weight, metadata and the enabled flag change at run time by one call; what
// identifies the instance changes by a new registration before the old one goes.
func ExampleAutoServiceRegistration_Update() {
	ctx := context.Background()
	catalogue := memory.New()
	orders := registry.ServiceID{Name: "order-service"}
	auto, err := registry.NewAutoServiceRegistration(registry.AutoServiceRegistrationParams{
		ServiceRegistry: catalogue,
		Registration:    registry.Registration{Instance: registry.NewInstance(orders, "192.0.2.1", 8080)},
		Options:         registry.DefaultAutoOptions(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := auto.Start(ctx); err != nil {
		fmt.Println(err)
	}
	err = auto.Update(ctx, func(r *registry.Registration) {
		r.Weight = 0.5
		r.Metadata = map[string]string{"color": "green"}
	})
	for _, i := range catalogue.Instances(orders) {
		fmt.Println(err, i.Address(), i.Weight, i.Metadata["color"])
	}
	err = auto.Update(ctx, func(r *registry.Registration) { r.Port = 9090 })
	for _, i := range catalogue.Instances(orders) {
		fmt.Println(err, i.Address(), i.Weight, i.Metadata["color"])
	}
	_ = auto.Stop(ctx)
	// Output:
	// <nil> 192.0.2.1:8080 0.5 green
	// <nil> 192.0.2.1:9090 0.5 green
}
