// Package nacosserver runs the registry server's own core for tests of the
// client side: the real naming store and HTTP API behind any listener, in
// memory and virtual time too, and the real push where there is a socket.
//
// It is imported by tests only.
package nacosserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/server/api"
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/projection"
	"github.com/rollcall-go/rollcall/server/push"
	"github.com/rollcall-go/rollcall/server/state"
)

// Server is a running server below the context path /nacos.
type Server struct {
	store    *naming.Store
	switches *naming.Switches
}

// Start serves l until the test ends. Without a socket nobody is pushed to.
func Start(t testing.TB, l net.Listener, socket push.Conn) *Server {
	t.Helper()
	switches := naming.NewSwitches()
	store := naming.New(naming.Options{Switches: switches})
	t.Cleanup(func() { check(t, store.Close()) })

	machine := state.New()
	machine.OnApply(projection.New(store, switches, nil).Apply)
	users, err := auth.New(auth.Options{Users: projection.Users{State: machine}, Key: auth.NewKey(), Installation: "test"})
	check(t, err)
	o := api.Options{
		Store: store, Switches: switches, State: machine, Proposer: direct{machine}, Push: nobody{}, Auth: users,
	}
	if socket != nil {
		pusher, err := push.New(push.Options{Conn: socket, Source: api.Pushed(store, switches)})
		check(t, err)
		t.Cleanup(func() { check(t, pusher.Close()) })
		store.OnChange(pusher.Change)
		o.Push = pusher
	}
	server, err := api.New(o)
	check(t, err)

	engine := gin.New()
	server.Mount(engine)
	testutil.Serve(t, l, http.StripPrefix("/nacos", engine))
	return &Server{store: store, switches: switches}
}

// Set replaces the instances of a service.
func (s *Server) Set(t testing.TB, id registry.ServiceID, instances []registry.Instance) {
	t.Helper()
	id = id.Normalize()
	k := wire.ServiceKey{Namespace: id.Namespace, ServiceName: wire.ServiceName{Group: id.Group, Name: id.Name}}
	keep := make(map[naming.InstanceKey]bool)
	for _, i := range instances {
		key := naming.InstanceKey{Cluster: i.Cluster, IP: i.IP, Port: i.Port}
		keep[key] = true
		check(t, s.store.Register(k, naming.Registration{
			InstanceKey: key, Weight: i.Weight, Enabled: i.Enabled, Healthy: i.Healthy, Metadata: i.Metadata,
		}))
	}
	revision, found := s.store.Lookup(k)
	if !found {
		return
	}
	for i := range revision.All() {
		if !keep[i.InstanceKey] {
			check(t, s.store.Deregister(k, i.InstanceKey))
		}
	}
}

// TurnAway has every naming request answered with 503 from now on.
func (s *Server) TurnAway(t testing.TB) {
	t.Helper()
	check(t, s.switches.Apply("overriddenServerStatus", "DOWN"))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		t.Fatal(err)
	}
}

// direct applies what is proposed at once and keeps it in memory.
type direct struct{ machine *state.State }

func (d direct) Propose(_ context.Context, command []byte) (any, error) {
	return d.machine.Apply(command)
}

// nobody refuses every subscription.
type nobody struct{}

func (nobody) Subscribe(push.Request) bool                              { return false }
func (nobody) Subscribers(func(wire.ServiceKey) bool) []push.Subscriber { return nil }
func (nobody) Counts() push.Counts                                      { return push.Counts{} }
func (nobody) Pending(int) []push.Pending                               { return nil }
