package naming_test

import (
	"fmt"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
)

// A client registers, a consumer asks.
func Example() {
	store := naming.New(naming.Options{})
	defer store.Close()

	orders := wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: "orders"}}
	err := store.Register(orders, naming.Registration{
		InstanceKey: naming.InstanceKey{IP: "192.0.2.7", Port: 8080},
		Weight:      1, Enabled: true, Healthy: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	revision, _ := store.Lookup(orders)
	hosts, _ := revision.Select(naming.Query{HealthyOnly: true})
	for _, host := range hosts {
		fmt.Println(host.Cluster, host.IP, host.Port, host.ID)
	}
	// Output: DEFAULT 192.0.2.7 8080 192.0.2.7#8080#DEFAULT#DEFAULT_GROUP@@orders
}

// What a client asks for is checked, then decided by the replicated state, then
// applied; here the decision is left out.
func ExampleStore_ApplyPersistent() {
	store := naming.New(naming.Options{})
	defer store.Close()
	orders := wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: "orders"}}

	checked, err := store.CheckPersistent(orders, naming.Registration{
		InstanceKey: naming.InstanceKey{IP: "192.0.2.7", Port: 8080}, Weight: 1, Enabled: true, Healthy: true,
	}, false)
	if err != nil {
		panic(err)
	}
	id, err := store.ApplyPersistent(orders, naming.Persistent{Registration: checked})
	if err != nil {
		panic(err)
	}
	fmt.Println(id)

	store.SetPersistentHealth(orders, checked.InstanceKey, false) // a probe failed
	revision, _ := store.Lookup(orders)
	_, persistent := revision.Find(checked.InstanceKey)
	fmt.Println(persistent.Ephemeral, persistent.Healthy)
	// Output:
	// 192.0.2.7#8080#DEFAULT#DEFAULT_GROUP@@orders
	// false false
}
