package projection_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/projection"
	"github.com/rollcall-go/rollcall/server/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a state whose changes come to a store at once.
type world struct {
	t          *testing.T
	state      *state.State
	store      *naming.Store
	switches   *naming.Switches
	projection *projection.Projection
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, state: state.New(), switches: naming.NewSwitches()}
	w.store = naming.New(naming.Options{Switches: w.switches})
	t.Cleanup(func() { require.NoError(t, w.store.Close()) })
	w.projection = projection.New(w.store, w.switches, nil)
	w.state.OnApply(w.projection.Apply)
	return w
}

// Propose implements [state.Proposer].
func (w *world) Propose(_ context.Context, command []byte) (any, error) {
	return w.state.Apply(command)
}

func (w *world) apply(commands ...state.Command) {
	w.t.Helper()
	for _, c := range commands {
		_, err := state.Propose(context.Background(), w, c)
		require.NoError(w.t, err)
	}
}

func (w *world) revision(k wire.ServiceKey) *naming.Revision {
	w.t.Helper()
	r, found := w.store.Lookup(k)
	require.True(w.t, found)
	return r
}

var orders = wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: "orders"}}

func instance(port int) state.Instance {
	return state.Instance{
		Service: orders, InstanceKey: state.InstanceKey{Cluster: "DEFAULT", IP: "192.0.2.1", Port: port},
		Weight: 2, Enabled: true, Healthy: true, Metadata: map[string]string{"k": "v"}, App: "shop",
	}
}

// everything are commands that leave something of each kind.
func everything() []state.Command {
	return []state.Command{
		&state.RegisterInstance{Instance: instance(1)}, &state.RegisterInstance{Instance: instance(2)},
		&state.PutService{Service: state.Service{
			Key: orders, ProtectThreshold: 0.5, Metadata: map[string]string{"a": "b"},
			Selector: []byte(`{"type":"label","expression":"CONSUMER.label.A+1 = PROVIDER.label.A+1","labels":["A+1"]}`),
		}},
		&state.PutCluster{Cluster: state.Cluster{Service: orders, Name: "A", HealthChecker: []byte(`{"type":"NONE"}`), CheckPort: 7}},
		&state.SetSwitches{Object: []byte(`{"checkTimes":7}`)},
		&state.DeregisterInstance{Service: orders, InstanceKey: instance(2).InstanceKey},
	}
}

func (w *world) hasEverything() {
	w.t.Helper()
	r := w.revision(orders)
	require.Equal(w.t, 1, r.Len())
	for i := range r.Persistent() {
		require.Equal(w.t, 1, i.Port)
		require.Equal(w.t, 2.0, i.Weight)
		require.Equal(w.t, map[string]string{"k": "v"}, i.Metadata)
		require.Equal(w.t, "shop", i.App)
		require.NotEmpty(w.t, i.ID)
	}
	require.Equal(w.t, 0.5, r.Service().ProtectThreshold)
	require.Equal(w.t, "CONSUMER.label.A+1 = PROVIDER.label.A+1", r.Service().Selector.Expression, "nothing is decoded twice")
	require.Equal(w.t, naming.CheckerNone, r.ClusterInfo("A").Checker.Type())
	require.Equal(w.t, 7, r.ClusterInfo("A").CheckPort)
	require.Equal(w.t, 7, w.switches.Load().CheckTimes)
}

func TestProjection_ChangesOneByOne(t *testing.T) {
	w := newWorld(t)
	w.apply(everything()...)
	w.hasEverything()
	w.apply(&state.DeleteService{Service: orders})
	_, found := w.store.Lookup(orders)
	require.False(t, found)
}

func TestProjection_AllAtOnce(t *testing.T) {
	source, target := newWorld(t), newWorld(t)
	source.apply(everything()...)
	var backup bytes.Buffer
	_, err := source.state.View().WriteTo(&backup)
	require.NoError(t, err)

	other := orders
	other.Name = "gone"
	target.apply(&state.CreateService{Service: state.Service{Key: other}}, &state.SetSwitches{Object: []byte(`{"checkTimes":9}`)})
	require.NoError(t, target.state.Restore(&backup))
	target.hasEverything()
	_, found := target.store.Lookup(other)
	require.False(t, found, "what is not in the state any more")

	empty := newWorld(t)
	require.Equal(t, 3, empty.switches.Load().CheckTimes, "never set: the defaults")
}

func TestProjection_DeletedOrReleased(t *testing.T) {
	beating := naming.Registration{InstanceKey: naming.InstanceKey{IP: "192.0.2.9", Port: 80}, Weight: 1, Enabled: true, Healthy: true}
	w := newWorld(t)
	w.apply(&state.CreateService{Service: state.Service{Key: orders}})
	require.NoError(t, w.store.Register(orders, beating))
	done := w.projection.Release(orders)
	w.apply(&state.DeleteService{Service: orders, IfEmpty: true})
	done()
	require.Equal(t, 1, w.revision(orders).Len(), "it was found empty, and is not any more")
	require.False(t, w.revision(orders).Service().Explicit)

	w.apply(&state.PutService{Service: state.Service{Key: orders}}, &state.DeleteService{Service: orders})
	_, found := w.store.Lookup(orders)
	require.False(t, found, "an operator has deleted it with all its instances")
}

func TestDiscarder(t *testing.T) {
	w := newWorld(t)
	d := projection.NewDiscarder(nil)
	d.Discard(orders) // before it runs, and of nothing
	d.Run(w.projection, w)
	w.apply(&state.CreateService{Service: state.Service{Key: orders}})
	d.Discard(orders)
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	w.apply(&state.PutService{Service: state.Service{Key: orders, ProtectThreshold: 0.1}}, &state.RegisterInstance{Instance: instance(1)})
	full := projection.NewDiscarder(nil)
	full.Run(w.projection, w)
	full.Discard(orders)
	require.NoError(t, full.Close())
	require.Equal(t, 1, w.revision(orders).Len(), "who has instances stays")
	require.NoError(t, projection.NewDiscarder(nil).Close(), "without having run")
}

func TestUsers(t *testing.T) {
	w := newWorld(t)
	users := projection.Users{State: w.state}
	_, found := users.PasswordHash("ann")
	require.False(t, found)
	w.apply(&state.CreateUser{User: state.User{Name: "ann", PasswordHash: "hash"}},
		&state.AddRole{Role: state.Role{User: "ann", Role: "reads"}}, &state.AddRole{Role: state.Role{User: "ann", Role: "writes"}},
		&state.AddPermission{Permission: state.Permission{Role: "reads", Resource: ":*:*", Action: "r"}})
	hash, found := users.PasswordHash("ann")
	require.True(t, found)
	require.Equal(t, "hash", hash)
	require.Equal(t, []string{"reads", "writes"}, users.Roles("ann"))
	require.Equal(t, []auth.Permission{{Resource: ":*:*", Action: "r"}}, users.Permissions("reads"))
	require.Empty(t, users.Permissions("writes"))
}
