package nacos_test

import (
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/discoverytest"
	"github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/internal/testutil/nacosserver"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/server/naming"
)

// realServer is our own server at 127.0.0.1, HTTP in memory, push over UDP.
type realServer struct {
	t        *testing.T
	listener *testutil.Listener
	*nacosserver.Server
}

func newRealServer(t *testing.T) *realServer {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	l := testutil.NewListener()
	return &realServer{t: t, listener: l, Server: nacosserver.Start(t, l, listenUDP(t, "127.0.0.1"))}
}

func (r *realServer) set(id registry.ServiceID, instances []registry.Instance) {
	k := wire.ServiceKey{Namespace: id.Namespace, ServiceName: wire.ServiceName{Group: id.Group, Name: id.Name}}
	keep := make(map[naming.InstanceKey]bool)
	for _, i := range instances {
		ik := naming.InstanceKey{Cluster: i.Cluster, IP: i.IP, Port: i.Port}
		keep[ik] = true
		require.NoError(r.t, r.Store.Register(k, naming.Registration{
			InstanceKey: ik, Weight: i.Weight, Enabled: i.Enabled, Healthy: i.Healthy, Metadata: i.Metadata,
		}))
	}
	revision, found := r.Store.Lookup(k)
	if !found {
		return
	}
	for i := range revision.All() {
		if !keep[i.InstanceKey] {
			require.NoError(r.t, r.Store.Deregister(k, i.InstanceKey))
		}
	}
}

func TestSource_SuiteAgainstTheRealServer(t *testing.T) {
	discoverytest.Run(t, discoverytest.Harness{New: func(t *testing.T, content discoverytest.Catalogue) discoverytest.Subject {
		server := newRealServer(t)
		for id, instances := range content {
			server.set(id, instances)
		}
		return discoverytest.Subject{
			Source: newSource(t, server.listener.Dial, []string{"127.0.0.1"}, nacos.Push{Enabled: true}),
			Set:    server.set,
			Pushes: true,
			Fail:   func() { require.NoError(t, server.Switches.Set("overriddenServerStatus", "DOWN")) },
		}
	}})
}

// A change is with the caller long before the list of the last fetch is old.
func TestPush_ReachesTheClientOfTheRealServer(t *testing.T) {
	server := newRealServer(t)
	source := newSource(t, server.listener.Dial, []string{"127.0.0.1"}, nacos.Push{Enabled: true})
	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}, RefreshInterval: time.Hour})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	server.set(orders, []registry.Instance{registry.NewInstance(orders, "192.0.2.1", 80)})
	_, err = client.Snapshot(t.Context(), orders)
	require.NoError(t, err)

	want := registry.NewInstance(orders, "192.0.2.2", 80)
	want.Metadata = map[string]string{"Version": "2"}
	server.set(orders, []registry.Instance{want})
	require.Eventually(t, func() bool {
		s, err := client.Snapshot(t.Context(), orders)
		return err == nil && len(s.Instances) == 1 && s.Instances[0].IP == want.IP && s.Instances[0].Metadata["Version"] == "2"
	}, 10*time.Second, 10*time.Millisecond)
}
