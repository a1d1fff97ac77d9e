package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"os"

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

// A process that keeps its lists on the disk, and the next one, which starts while
// the registry is away.
func ExampleDisk() {
	dir, err := os.MkdirTemp("", "lists")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	show := func(source discovery.Source) {
		client, err := discovery.New(discovery.Options{
			Sources: []discovery.Source{source},
			Disk:    discovery.Disk{Dir: dir, LoadAtStart: true},
		})
		if err != nil {
			panic(err)
		}
		defer client.Close()
		s, err := client.Snapshot(context.Background(), client.ID("order-service"))
		if err != nil {
			panic(err)
		}
		fmt.Println(len(s.Instances), "instance from", s.Origin, "stale:", s.Stale())
	}

	catalogue := memory.New()
	catalogue.Put(registry.NewInstance(registry.ServiceID{Name: "order-service"}, "192.0.2.1", 8080))
	show(catalogue)
	show(away{memory.New()})
	// Output:
	// 1 instance from memory stale: false
	// 1 instance from disk stale: true
}

// away is a source that cannot be reached.
type away struct{ *memory.Source }

func (away) Fetch(context.Context, registry.ServiceID) (discovery.Listing, error) {
	return discovery.Listing{}, errors.New("connection refused")
}

func ExampleOptions_publisher() {
	catalogue := memory.New()
	told := make(chan registry.InstancesChanged)
	client, err := discovery.New(discovery.Options{
		Sources: []discovery.Source{catalogue},
		Publisher: registry.PublisherFunc(func(_ context.Context, event any) error {
			if e, ok := event.(registry.InstancesChanged); ok {
				told <- e
			}
			return nil
		}),
	})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	id := client.ID("order-service")
	if _, err := client.Snapshot(context.Background(), id); err != nil {
		panic(err)
	}
	catalogue.Put(registry.NewInstance(id, "192.0.2.1", 8080))
	e := <-told
	fmt.Println(e.Service.Name, "has", len(e.Added), "more and", len(e.Removed), "less")
	// Output: order-service has 1 more and 0 less
}
