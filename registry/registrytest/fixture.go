package registrytest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

// testTimeout bounds the calls of one test, besides what it waits for changes. It is
// for what hangs, and no measure of a machine that is busy.
const testTimeout = time.Minute

// fixture is one test's registry and service.
type fixture struct {
	*testing.T
	h       Harness
	reg     registry.ServiceRegistry
	ctx     context.Context
	service registry.ServiceID
}

func newFixture(t *testing.T, h Harness) *fixture {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout+10*h.Within)
	t.Cleanup(cancel)
	reg := h.New(t)
	t.Cleanup(func() { require.NoError(t, reg.Close()) })
	return &fixture{
		T: t, h: h, reg: reg, ctx: ctx,
		service: registry.ServiceID{
			Namespace: h.Namespace, Group: h.Group, Name: fmt.Sprintf("registrytest-%016x", rand.Uint64()),
		}.Normalize(),
	}
}

// registration returns one that no other test uses, as its port is the n-th.
func (f *fixture) registration(n int) registry.Registration {
	return registry.Registration{Instance: registry.NewInstance(f.service, "127.0.0.1", 20000+n)}
}

// register registers, and takes back at the end of the test what is left.
func (f *fixture) register(r registry.Registration) {
	f.Helper()
	require.NoError(f, f.reg.Register(f.ctx, r))
	f.Cleanup(func() { _ = f.reg.Deregister(f.ctx, r) })
}

// listed waits until the list of the service satisfies ok.
func (f *fixture) listed(what string, ok func([]registry.Instance) bool) {
	f.Helper()
	f.listedIn(f.service, what, ok)
}

func (f *fixture) listedIn(id registry.ServiceID, what string, ok func([]registry.Instance) bool) {
	f.Helper()
	const pause = 20 * time.Millisecond
	for deadline := time.Now().Add(f.h.Within); ; {
		list := f.h.List(f.T, id)
		if ok(list) {
			return
		}
		if !time.Now().Before(deadline) {
			f.Fatalf("want %s, the registry lists %+v", what, list)
		}
		<-time.After(pause)
	}
}

// listedOnly waits until exactly the given registrations get traffic.
func (f *fixture) listedOnly(want ...registry.Registration) {
	f.Helper()
	f.listed(fmt.Sprintf("exactly %d instances", len(want)), func(list []registry.Instance) bool {
		list = withTraffic(list)
		if len(list) != len(want) {
			return false
		}
		for _, r := range want {
			if _, ok := find(list, r); !ok {
				return false
			}
		}
		return true
	})
}

// find looks an instance up by what identifies it.
func find(list []registry.Instance, r registry.Registration) (registry.Instance, bool) {
	for _, i := range list {
		if i.Key() == r.Key() {
			return i, true
		}
	}
	return registry.Instance{}, false
}

func withTraffic(list []registry.Instance) []registry.Instance {
	var enabled []registry.Instance
	for _, i := range list {
		if i.Enabled {
			enabled = append(enabled, i)
		}
	}
	return enabled
}

// carries reports whether got has every entry of want; a registry may add its
// own.
func carries(got, want map[string]string) bool {
	for key, value := range want {
		if v, ok := got[key]; !ok || v != value {
			return false
		}
	}
	return true
}

// fails demands an error that is of a kind and names the instance.
func (f *fixture) fails(err, kind error, r registry.Registration) {
	f.Helper()
	require.ErrorIs(f, err, kind)
	require.ErrorContains(f, err, r.Address())
}
