package memory_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/discovery/discoverytest"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/registry"
	memoryregistry "github.com/rollcall-go/rollcall/registry/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSource_Contract(t *testing.T) {
	discoverytest.Run(t, discoverytest.Harness{New: func(_ *testing.T, content discoverytest.Catalogue) discoverytest.Subject {
		s := memory.New()
		for id, instances := range content {
			s.Set(id, instances...)
		}
		return discoverytest.Subject{Source: s, Pushes: true, Set: func(id registry.ServiceID, list []registry.Instance) {
			s.Set(id, list...)
		}}
	}})
}

func TestRegistrySource_Contract(t *testing.T) {
	discoverytest.Run(t, discoverytest.Harness{New: func(t *testing.T, content discoverytest.Catalogue) discoverytest.Subject {
		r := memoryregistry.New()
		t.Cleanup(func() { _ = r.Close() })
		set := func(id registry.ServiceID, list []registry.Instance) {
			for _, i := range r.Instances(id) {
				_ = r.Deregister(context.WithoutCancel(t.Context()), registry.Registration{Instance: i})
			}
			for _, i := range list {
				_ = r.Register(context.WithoutCancel(t.Context()), registry.Registration{Instance: i})
			}
		}
		for id, list := range content {
			set(id, list)
		}
		return discoverytest.Subject{Source: memory.FromRegistry(r), Pushes: true, Set: set}
	}})
}

func TestSource_PutReplacesByKeyAndRemoveTakesOut(t *testing.T) {
	s := memory.New()
	id := registry.ServiceID{Name: "orders"}
	one, two := registry.NewInstance(id, "192.0.2.1", 80), registry.NewInstance(id, "192.0.2.2", 80)
	weights := func() map[string]float64 {
		l, err := s.Fetch(t.Context(), id)
		require.NoError(t, err)
		found := map[string]float64{}
		for _, i := range l.Instances {
			found[i.IP] = i.Weight
		}
		return found
	}
	s.Put(one)
	s.Put(two)
	one.Weight = 9
	s.Put(one)
	require.Equal(t, map[string]float64{one.IP: 9, two.IP: 1}, weights())
	s.Remove(one.Key())
	s.Remove(one.Key())
	require.Equal(t, map[string]float64{two.IP: 1}, weights())
	s.Remove(two.Key())
	names, err := s.Services(t.Context(), "", "")
	require.NoError(t, err)
	require.Empty(t, names, "a service without instances is gone")
}
