package loadbalance

import (
	"context"
	"testing"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/registry"
)

// BenchmarkViewPick is the choice alone, without the look-up of the service: 100
// instances, zone preference, outlier ejection, calls counted in and out. Its
// budget is 100 ns and no allocation.
func BenchmarkViewPick(b *testing.B) {
	id := registry.ServiceID{Name: "orders"}.Normalize()
	source := memory.New()
	for n := range 100 {
		i := registry.NewInstance(id, "192.0.2.1", n+1)
		i.Weight = float64(1 + n%3)
		i.Metadata = map[string]string{MetadataZone: []string{"a", "b"}[n%2]}
		source.Put(i)
	}
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	p := DefaultProperties()
	p.Configurations, p.Zone, p.Outlier.Enabled = StageZone, "a", true
	l, err := New(Options{Discovery: c, Properties: &p})
	if err != nil {
		b.Fatal(err)
	}
	v, _, err := l.look(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	r := &Request{Context: context.Background(), Service: id}
	b.ReportAllocs()
	for b.Loop() {
		result, err := v.pick(r)
		if err != nil {
			b.Fatal(err)
		}
		v.settings.begin(&result)
		result.endpoint.active.Add(-1)
	}
}
