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
	"github.com/rollcall-go/rollcall/registry"
)

// realServer starts our own server at 127.0.0.1, HTTP in memory, push over UDP,
// and returns it with a new source that is pushed to.
func realServer(t *testing.T) (*nacosserver.Server, *nacos.Source) {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	l := testutil.NewListener()
	server := nacosserver.Start(t, l, listenUDP(t, "127.0.0.1"))
	return server, newSource(t, l.Dial, []string{"127.0.0.1"}, nacos.Push{Enabled: true})
}

func TestSource_SuiteAgainstTheRealServer(t *testing.T) {
	discoverytest.Run(t, discoverytest.Harness{New: func(t *testing.T, content discoverytest.Catalogue) discoverytest.Subject {
		server, source := realServer(t)
		set := func(id registry.ServiceID, instances []registry.Instance) { server.Set(t, id, instances) }
		for id, instances := range content {
			set(id, instances)
		}
		return discoverytest.Subject{
			Source: source, Set: set, Pushes: true, Fail: func() { server.TurnAway(t) },
		}
	}})
}

// A change is with the caller long before the list of the last fetch is old.
func TestPush_ReachesTheClientOfTheRealServer(t *testing.T) {
	server, source := realServer(t)
	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}, RefreshInterval: time.Hour})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	server.Set(t, orders, []registry.Instance{registry.NewInstance(orders, "192.0.2.1", 80)})
	_, err = client.Snapshot(t.Context(), orders)
	require.NoError(t, err)

	want := registry.NewInstance(orders, "192.0.2.2", 80)
	want.Metadata = map[string]string{"Version": "2"}
	server.Set(t, orders, []registry.Instance{want})
	require.Eventually(t, func() bool {
		s, err := client.Snapshot(t.Context(), orders)
		return err == nil && len(s.Instances) == 1 && s.Instances[0].IP == want.IP && s.Instances[0].Metadata["Version"] == "2"
	}, time.Minute, 10*time.Millisecond)
}
