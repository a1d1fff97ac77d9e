package memory_test

import (
	"context"
	"fmt"

	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/memory"
)

func ExampleNew() {
	ctx := context.Background()
	catalogue := memory.New()
	catalogue.OnChange(func(id registry.ServiceID) {
		fmt.Println(id.Name, "has", len(catalogue.Instances(id)))
	})
	orders := registry.Registration{Instance: registry.NewInstance(registry.ServiceID{Name: "orders"}, "127.0.0.1", 8080)}
	if err := catalogue.Register(ctx, orders); err != nil {
		fmt.Println(err)
	}
	if err := catalogue.Deregister(ctx, orders); err != nil {
		fmt.Println(err)
	}
	// Output:
	// orders has 1
	// orders has 0
}
