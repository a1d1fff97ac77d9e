package discoverytest

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// Bounds for a subject with a network behind it. No test waits for one of them
// to pass.
const (
	answerWithin = time.Minute
	pollEvery    = 5 * time.Millisecond
)

var (
	orders  = registry.ServiceID{Namespace: registry.DefaultNamespace, Group: registry.DefaultGroup, Name: "order-service"}
	stock   = registry.ServiceID{Namespace: registry.DefaultNamespace, Group: registry.DefaultGroup, Name: "stock_service"}
	archive = registry.ServiceID{Namespace: registry.DefaultNamespace, Group: "ARCHIVE", Name: "order-service"}
	unknown = registry.ServiceID{Namespace: registry.DefaultNamespace, Group: registry.DefaultGroup, Name: "nobody"}
)

func instance(id registry.ServiceID, ip string, port int, edits ...func(*registry.Instance)) registry.Instance {
	i := registry.NewInstance(id, ip, port)
	for _, edit := range edits {
		edit(&i)
	}
	return i
}

// catalogue has what lists differ in: clusters, weights, health, metadata with
// case and dots, IPv6, the same name in another group.
func catalogue() Catalogue {
	return Catalogue{
		orders: {
			instance(orders, "192.0.2.1", 8080, func(i *registry.Instance) {
				i.Weight = 2.5
				i.Metadata = map[string]string{"zone": "north", "gRPC_port": "9090", "a.b.c": "x=y&z"}
			}),
			instance(orders, "192.0.2.2", 8080, func(i *registry.Instance) { i.Cluster = "SOUTH" }),
			instance(orders, "192.0.2.3", 8080, func(i *registry.Instance) { i.Healthy = false }),
			instance(orders, "2001:db8::1", 8443, func(i *registry.Instance) {
				i.Metadata = map[string]string{registry.MetadataSecure: "true"}
			}),
		},
		stock:   {instance(stock, "192.0.2.9", 80)},
		archive: {instance(archive, "192.0.2.200", 8080)},
	}
}

func newSubject(t *testing.T, h Harness, content Catalogue) Subject {
	t.Helper()
	s := h.New(t, content)
	require.NotNil(t, s.Source)
	t.Cleanup(func() { _ = s.Source.Close() })
	return s
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerWithin)
	t.Cleanup(cancel)
	return ctx
}

func fetch(t *testing.T, s discovery.Source, id registry.ServiceID) discovery.Listing {
	t.Helper()
	l, err := s.Fetch(within(t), id)
	require.NoError(t, err)
	return l
}

// normalised reduces instances to what every source must report, in one order.
// The id is the registry's own affair.
func normalised(list []registry.Instance) []registry.Instance {
	out := make([]registry.Instance, 0, len(list))
	for _, i := range list {
		i = i.Clone()
		k := i.Key()
		i.ID, i.Service, i.Cluster, i.IP = "", k.Service, k.Cluster, k.IP
		if len(i.Metadata) == 0 {
			i.Metadata = nil
		}
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b registry.Instance) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.IP, b.IP), cmp.Compare(a.Port, b.Port))
	})
	return out
}

func requireInstances(t *testing.T, want, got []registry.Instance) {
	t.Helper()
	require.Equal(t, normalised(want), normalised(got))
}
