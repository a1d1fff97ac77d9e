package nacosclient_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is several fake servers in memory, all of them up.
type cluster struct {
	net       testutil.Network
	addrs     []string
	listeners []*testutil.Listener
	nodes     []*testutil.FakeNacos
}

func newCluster(t *testing.T, n int) *cluster {
	t.Helper()
	c := &cluster{}
	for i := range n {
		addr := fmt.Sprintf("192.0.2.%d:8848", i+1)
		l, err := c.net.Listen(addr)
		require.NoError(t, err)
		node := testutil.NewFakeNacos()
		testutil.Serve(t, l, node)
		c.addrs, c.listeners, c.nodes = append(c.addrs, addr), append(c.listeners, l), append(c.nodes, node)
	}
	return c
}

// client returns a client of the cluster that starts with the first server.
func (c *cluster) client(t *testing.T, change func(*nacosclient.Options)) *nacosclient.Client {
	t.Helper()
	o := nacosclient.Options{
		Servers:   c.addrs,
		Transport: testutil.Transport(t, c.net.Dial),
		Rand:      func(int) int { return 0 },
	}
	if change != nil {
		change(&o)
	}
	client, err := nacosclient.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// requests counts all requests of all nodes.
func (c *cluster) requests() (counts []int) {
	for _, node := range c.nodes {
		counts = append(counts, len(node.Requests("", "")))
	}
	return counts
}

func (c *cluster) forget() {
	for _, node := range c.nodes {
		node.ForgetRequests()
	}
}

func always(f testutil.Fault) func(testutil.Request) *testutil.Fault {
	return func(testutil.Request) *testutil.Fault { return &f }
}

// silent never answers.
var silent = testutil.Fault{Delay: time.Hour}

func registration() registry.Registration {
	r := registry.Registration{Instance: registry.NewInstance(registry.ServiceID{Name: "orders"}, "192.0.2.77", 8080)}
	r.Weight, r.Cluster = 2.5, "BLUE"
	r.Metadata = map[string]string{"gRPC_port": "9090", "say": `"a&b=c", ü`}
	return r
}
