package nacos

import (
	"fmt"
	"testing"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

// BenchmarkListing reads and translates a list of 100 instances, which is what
// every refresh of every service costs.
func BenchmarkListing(b *testing.B) {
	id := registry.ServiceID{Name: "orders"}.Normalize()
	list := wire.ServiceList{Name: id.Grouped(), CacheMillis: 10_000}
	for n := range 100 {
		ip := fmt.Sprintf("192.0.2.%d", n)
		list.Hosts = append(list.Hosts, wire.Host{
			IP: ip, Port: 8080, Healthy: true, Enabled: true, Ephemeral: true, Weight: 1, ClusterName: "DEFAULT",
			ServiceName: id.Grouped(), InstanceID: wire.InstanceID(ip, 8080, "DEFAULT", id.Grouped()),
			Metadata: map[string]string{"version": "2", "zone": "north"},
		})
	}
	body, err := list.MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		parsed, err := nacosclient.ParseList(body)
		if err != nil {
			b.Fatal(err)
		}
		if l := listing(id, parsed); len(l.Instances) != 100 {
			b.Fatal(len(l.Instances))
		}
	}
}
