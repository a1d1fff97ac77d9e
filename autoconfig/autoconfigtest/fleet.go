package autoconfigtest

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/memory"
)

// Fleet is a registry in memory and the network of the applications that use it.
// It is safe for concurrent use.
type Fleet struct {
	registry *memory.Registry
	network  *testutil.Network // nil: the loopback interface

	mu      sync.Mutex
	fault   Fault
	hosts   int
	clients []*discovery.Client // of the applications
}

// NewFleet returns a fleet whose applications listen on free ports of the loopback
// interface.
func NewFleet() *Fleet { return &Fleet{registry: memory.New()} }

// NewVirtualFleet returns a fleet whose applications listen and call each other in
// memory, at addresses of their own, for testing/synctest: sockets would keep the
// bubble's time from passing. What an application dials by itself, past
// *loadbalance.HTTPClient, is not part of it.
func NewVirtualFleet() *Fleet {
	f := NewFleet()
	f.network = &testutil.Network{}
	return f
}

// Op is a call that a registry gets.
type Op string

// The calls: those of registering, and those of looking up.
const (
	OpRegister   Op = "register"
	OpUpdate     Op = "update"
	OpDeregister Op = "deregister"
	OpSetStatus  Op = "set status"
	OpFetch      Op = "fetch"
	OpServices   Op = "services"
)

// Fault decides what becomes of a call: with an error it fails by that. It may
// wait, within the context, as a slow registry does. It is called concurrently.
// The service of [OpServices] has no name.
type Fault func(ctx context.Context, op Op, service registry.ServiceID) error

// SetFault has every call pass through f from now on; nil ends that.
func (f *Fleet) SetFault(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// Fail makes the given calls fail, or all when none are given, until [Fleet.Heal].
func (f *Fleet) Fail(err error, ops ...Op) {
	f.SetFault(func(_ context.Context, op Op, _ registry.ServiceID) error {
		for _, o := range ops {
			if o == op {
				return err
			}
		}
		if len(ops) == 0 {
			return err
		}
		return nil
	})
}

// Heal ends every fault.
func (f *Fleet) Heal() { f.SetFault(nil) }

// check asks the fault.
func (f *Fleet) check(ctx context.Context, op Op, service registry.ServiceID) error {
	f.mu.Lock()
	fault := f.fault
	f.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx, op, service)
}

// Put makes instances known as if they had registered themselves, whatever fault
// there is; one with the same key is replaced. When it returns, the applications
// that use the service know of it, unless a fault keeps them from that.
func (f *Fleet) Put(t testing.TB, instances ...registry.Instance) {
	t.Helper()
	for _, i := range instances {
		if err := f.registry.Register(context.Background(), registry.Registration{Instance: i}); err != nil {
			t.Fatalf("put %s: %v", i.Address(), err)
		}
		f.told(i.Service, func(list []registry.Instance) bool {
			return slices.ContainsFunc(list, func(l registry.Instance) bool {
				return l.Key() == i.Key() && l.Weight == i.Weight && l.Enabled == i.Enabled && l.Healthy == i.Healthy &&
					maps.Equal(l.Metadata, i.Metadata)
			})
		})
	}
}

// Remove takes instances out, as Put puts them in; one that is not there is no
// error.
func (f *Fleet) Remove(t testing.TB, instances ...registry.Instance) {
	t.Helper()
	for _, i := range instances {
		if err := f.registry.Deregister(context.Background(), registry.Registration{Instance: i}); err != nil {
			t.Fatalf("remove %s: %v", i.Address(), err)
		}
		f.told(i.Service, func(list []registry.Instance) bool {
			return !slices.ContainsFunc(list, func(l registry.Instance) bool { return l.Key() == i.Key() })
		})
	}
}

// tellTimeout is given to applications that do not come to see a change, since
// another source of theirs has the say.
const tellTimeout = 10 * time.Second

// told waits until the applications that use a service see it as it is.
func (f *Fleet) told(service registry.ServiceID, is func([]registry.Instance) bool) {
	f.mu.Lock()
	clients, fault := slices.Clone(f.clients), f.fault
	f.mu.Unlock()
	if fault != nil {
		return
	}
	for _, c := range clients {
		used := slices.ContainsFunc(c.State().Services, func(s discovery.ServiceState) bool { return s.Service == service.Normalize() })
		if !used {
			continue
		}
		seen := make(chan struct{})
		once := sync.OnceFunc(func() { close(seen) })
		subscription, err := c.Subscribe(service, func(s *discovery.Snapshot) {
			if is(s.Instances) {
				once()
			}
		})
		if err != nil {
			continue // it was stopped
		}
		late := time.NewTimer(tellTimeout)
		select {
		case <-seen:
		case <-late.C:
		}
		late.Stop()
		subscription.Close()
	}
}

// Instances returns what is registered of a service, sorted by address; the name
// is one of the default group.
func (f *Fleet) Instances(service string) []registry.Instance {
	return f.registry.Instances(registry.ServiceID{Name: service})
}

// Provide serves an instance of a service, a stand-in for another application,
// until the test ends, and makes it known.
func (f *Fleet) Provide(t testing.TB, service string, h http.Handler) registry.Instance {
	t.Helper()
	l := f.listen(t)
	testutil.Serve(t, l, h)
	i := instanceAt(service, l)
	f.Put(t, i)
	t.Cleanup(func() { f.Remove(t, i) })
	return i
}

func instanceAt(service string, l net.Listener) registry.Instance {
	host, port, _ := net.SplitHostPort(l.Addr().String())
	n, _ := strconv.Atoi(port)
	return registry.NewInstance(registry.ServiceID{Name: service}, host, n)
}

// virtualPort is the port of all listeners in memory.
const virtualPort = 8080

// listen opens the next listener of the network.
func (f *Fleet) listen(t testing.TB) net.Listener {
	t.Helper()
	if f.network == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	f.mu.Lock()
	f.hosts++
	host := net.IPv4(198, 18, byte(f.hosts>>8), byte(f.hosts)) // of the range for tests of networks
	f.mu.Unlock()
	l, err := f.network.Listen(net.JoinHostPort(host.String(), strconv.Itoa(virtualPort)))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// transport reaches the fleet's listeners; its idle connections are closed when
// the test ends.
func (f *Fleet) transport(t testing.TB) *http.Transport {
	if f.network == nil {
		return testutil.Transport(t, (&net.Dialer{}).DialContext)
	}
	return testutil.Transport(t, f.network.Dial)
}
