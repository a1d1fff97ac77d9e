package naming

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newStore returns a store that is closed with the test, or the bubble.
func newStore(t testing.TB, o Options) *Store {
	t.Helper()
	s := New(o)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// allGiven is an update that names every value.
var allGiven = Given{Weight: true, Enabled: true, Metadata: true, App: true}

func serviceKey(name string) wire.ServiceKey {
	return wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: name}}
}

func at(ip string, port int) InstanceKey { return InstanceKey{Cluster: "DEFAULT", IP: ip, Port: port} }

func registration(ip string, port int) Registration {
	return Registration{InstanceKey: at(ip, port), Weight: 1, Enabled: true, Healthy: true}
}

func withMetadata(r Registration, pairs ...string) Registration {
	r.Metadata = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		r.Metadata[pairs[i]] = pairs[i+1]
	}
	return r
}

// lookup returns the service's revision, which must be there.
func lookup(t testing.TB, s *Store, k wire.ServiceKey) *Revision {
	t.Helper()
	r, ok := s.Lookup(k)
	require.True(t, ok, "service %s is not there", k)
	return r
}

// instance returns an instance, which must be there.
func instance(t testing.TB, s *Store, k wire.ServiceKey, key InstanceKey) *Instance {
	t.Helper()
	i, ok := lookup(t, s, k).Get(key)
	require.True(t, ok, "instance %v is not there", key)
	return i
}

func has(r *Revision, key InstanceKey) bool {
	_, ok := r.Get(key)
	return ok
}

// ports returns the ports of the service's instances in list order.
func ports(s *Store, k wire.ServiceKey) []int {
	r, ok := s.Lookup(k)
	if !ok {
		return nil
	}
	var all []int
	for i := range r.All() {
		all = append(all, i.Port)
	}
	return all
}
