package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/naming/snapshot"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "rollcall")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ephemeral")
	orders := wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: "orders"}}

	for range 2 { // two lives of a server
		store := naming.New(naming.Options{})
		kept, err := snapshot.Open(snapshot.Options{Store: store, Path: path})
		if err != nil {
			panic(err)
		}
		fmt.Println("starts with", store.Stats().Instances)
		err = store.Register(orders, naming.Registration{
			InstanceKey: naming.InstanceKey{IP: "192.0.2.1", Port: 80}, Weight: 1, Enabled: true, Healthy: true,
		})
		if err != nil {
			panic(err)
		}
		if err := kept.Close(); err != nil {
			panic(err)
		}
		if err := store.Close(); err != nil {
			panic(err)
		}
	}
	// Output:
	// starts with 0
	// starts with 1
}
