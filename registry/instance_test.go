package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

func TestServiceIDDefaults(t *testing.T) {
	id := registry.ServiceID{Name: "orders"}
	require.Equal(t, registry.ServiceID{Namespace: "public", Group: "DEFAULT_GROUP", Name: "orders"}, id.Normalize())
	require.Equal(t, "DEFAULT_GROUP@@orders", id.Grouped())
	require.Equal(t, "public/DEFAULT_GROUP@@orders", id.String())
	require.Equal(t, "dev/G@@orders", registry.ServiceID{Namespace: "dev", Group: "G", Name: "orders"}.String())
}

func TestInstanceAddress(t *testing.T) {
	for ip, want := range map[string]string{
		"192.0.2.7":     "192.0.2.7:80",
		"2001:db8::7":   "[2001:db8::7]:80",
		"[2001:db8::7]": "[2001:db8::7]:80",
		"host-7":        "host-7:80",
	} {
		require.Equal(t, want, registry.Instance{IP: ip, Port: 80}.Address())
	}
}

func TestInstanceSecure(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "TRUE": true, "false": false, "": false, "yes": false} {
		i := registry.Instance{Metadata: map[string]string{registry.MetadataSecure: value}}
		require.Equal(t, want, i.Secure(), value)
	}
	require.False(t, registry.Instance{}.Secure())
}

func TestInstanceKeyCompletesWhatIsLeftOut(t *testing.T) {
	i := registry.NewInstance(registry.ServiceID{Name: "orders"}, "2001:db8::7", 80)
	j := registry.Instance{Service: registry.ServiceID{Name: "orders"}, IP: "[2001:db8::7]", Port: 80}
	require.Equal(t, i.Key(), j.Key())
	j.Cluster = "BLUE"
	require.NotEqual(t, i.Key(), j.Key())
}

func TestInstanceCloneSharesNothing(t *testing.T) {
	i := registry.Instance{Metadata: map[string]string{"a": "1"}}
	i.Clone().Metadata["a"] = "2"
	require.Equal(t, "1", i.Metadata["a"])
}
