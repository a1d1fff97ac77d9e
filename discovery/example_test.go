package discovery_test

import (
	"context"
	"fmt"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/registry"
)

func ExampleNew() {
	source := memory.New()
	source.Put(registry.NewInstance(registry.ServiceID{Name: "order-service"}, "192.0.2.1", 8080))

	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	snapshot, err := client.Snapshot(context.Background(), client.ID("order-service"))
	if err != nil {
		panic(err)
	}
	for _, i := range snapshot.Instances {
		fmt.Println(i.Address())
	}
	// Output: 192.0.2.1:8080
}

func ExampleClient_Subscribe() {
	source := memory.New()
	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	lists := make(chan *discovery.Snapshot)
	subscription, err := client.Subscribe(client.ID("order-service"), func(s *discovery.Snapshot) { lists <- s })
	if err != nil {
		panic(err)
	}
	fmt.Println(len((<-lists).Instances), "instances")
	source.Put(registry.NewInstance(registry.ServiceID{Name: "order-service"}, "192.0.2.1", 8080))
	fmt.Println(len((<-lists).Instances), "instance")
	subscription.Close()
	// Output:
	// 0 instances
	// 1 instance
}
