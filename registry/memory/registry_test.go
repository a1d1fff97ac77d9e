package memory_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/memory"
	"github.com/rollcall-go/rollcall/registry/registrytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	var r *memory.Registry
	registrytest.Run(t, registrytest.Harness{
		New: func(*testing.T) registry.ServiceRegistry {
			r = memory.New()
			return r
		},
		List: func(_ *testing.T, id registry.ServiceID) []registry.Instance { return r.Instances(id) },
	})
}

func registration(service string, port int) registry.Registration {
	return registry.Registration{Instance: registry.NewInstance(registry.ServiceID{Name: service}, "127.0.0.1", port)}
}

func TestCase24_ClustersAreApart(t *testing.T) {
	r := memory.New()
	blue, green := registration("s", 1), registration("s", 1)
	blue.Cluster, green.Cluster = "BLUE", "GREEN"
	require.NoError(t, r.Register(context.Background(), blue))
	require.NoError(t, r.Register(context.Background(), green))
	require.Len(t, r.Instances(blue.Service), 2)
	require.NoError(t, r.Deregister(context.Background(), blue))
	left := r.Instances(blue.Service)
	require.Len(t, left, 1)
	require.Equal(t, "GREEN", left[0].Cluster)
}

func TestInstancesAreSorted(t *testing.T) {
	r := memory.New()
	a, b, c := registration("s", 2), registration("s", 1), registration("s", 3)
	c.Cluster = "A"
	for _, reg := range []registry.Registration{a, b, c} {
		require.NoError(t, r.Register(context.Background(), reg))
	}
	var ports []int
	for _, i := range r.Instances(a.Service) {
		ports = append(ports, i.Port)
	}
	require.Equal(t, []int{3, 1, 2}, ports)
}

func TestServicesOfOneNamespaceAndGroup(t *testing.T) {
	r := memory.New()
	other := registration("z", 1)
	other.Service.Group = "OTHER"
	for _, reg := range []registry.Registration{registration("b", 1), registration("a", 1), other} {
		require.NoError(t, r.Register(context.Background(), reg))
	}
	require.Equal(t, []string{"a", "b"}, r.Services("", ""))
	require.Equal(t, []string{"z"}, r.Services("public", "OTHER"))
	require.NoError(t, r.Deregister(context.Background(), other))
	require.Empty(t, r.Services("public", "OTHER"), "a service without instances is no service")
}

func TestOnChangeTellsEveryChange(t *testing.T) {
	r := memory.New()
	var mu sync.Mutex
	var seen []int
	r.OnChange(func(id registry.ServiceID) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, len(r.Instances(id))) // asking from within is allowed
	})
	reg := registration("s", 1)
	require.NoError(t, r.Register(context.Background(), reg))
	require.NoError(t, r.SetStatus(context.Background(), reg, registry.StatusDown))
	require.NoError(t, r.Deregister(context.Background(), reg))
	require.NoError(t, r.Deregister(context.Background(), reg))
	require.ErrorIs(t, r.SetStatus(context.Background(), reg, registry.StatusUp), registry.ErrNotFound)
	require.Equal(t, []int{1, 1, 0}, seen, "what changes nothing is not told")
}

func TestModuleClosesWhatItMade(t *testing.T) {
	var r registry.ServiceRegistry
	app := fxtest.New(t, memory.Module, fx.Populate(&r))
	app.RequireStart()
	require.NoError(t, r.Register(context.Background(), registration("s", 1)))
	app.RequireStop()
	require.ErrorIs(t, r.Register(context.Background(), registration("s", 1)), registry.ErrClosed)
}

func TestSharedModuleOutlivesTheApplication(t *testing.T) {
	shared := memory.New()
	var r registry.ServiceRegistry
	app := fxtest.New(t, memory.SharedModule(shared), fx.Populate(&r))
	app.RequireStart()
	require.NoError(t, r.Register(context.Background(), registration("s", 1)))
	app.RequireStop()
	require.Len(t, shared.Instances(registry.ServiceID{Name: "s"}), 1)
}
