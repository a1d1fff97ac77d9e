package discovery_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/registry"
)

func TestSetDefaults_PlainNamesMeanOtherServices(t *testing.T) {
	s := memory.New()
	for _, id := range []registry.ServiceID{{Name: "a"}, {Namespace: "dev", Group: "G", Name: "b"}} {
		s.Set(id.Normalize(), registry.NewInstance(id.Normalize(), "192.0.2.1", 80))
	}
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{s}})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	services := func() []string {
		names, err := c.Services(t.Context())
		require.NoError(t, err)
		return names
	}
	require.Equal(t, []string{"a"}, services())
	c.SetDefaults("dev", "G")
	require.Equal(t, []string{"b"}, services())
	require.Equal(t, registry.ServiceID{Namespace: "dev", Group: "G", Name: "x"}, c.ID("x"))
	require.Equal(t, registry.ServiceID{Namespace: "dev", Group: "H", Name: "x"}, c.ID("H@@x"))
	c.SetDefaults("", "")
	require.Equal(t, registry.ServiceID{Name: "x"}.Normalize(), c.ID("x"))
}

// A name must never be completed from a namespace before and a group after.
func TestSetDefaults_AreReplacedTogether(t *testing.T) {
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{memory.New()}, Namespace: "a", Group: "a"})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 1000 {
			c.SetDefaults("b", "b")
			c.SetDefaults("a", "a")
		}
	})
	for range 1000 {
		if id := c.ID("x"); id.Namespace != id.Group {
			t.Errorf("half of each: %s in %s", id.Group, id.Namespace)
			break
		}
	}
	wg.Wait()
}
