package nacosclient_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client of the cluster that starts with the first server.
func newClient(t *testing.T, c *testutil.Cluster, change func(*nacosclient.Options)) *nacosclient.Client {
	t.Helper()
	o := nacosclient.Options{Servers: c.Addrs, Transport: c.Transport(t), Rand: func(int) int { return 0 }}
	if change != nil {
		change(&o)
	}
	client, err := nacosclient.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// silent never answers.
var silent = testutil.Fault{Delay: time.Hour}

func registration() registry.Registration {
	r := registry.Registration{Instance: registry.NewInstance(registry.ServiceID{Name: "orders"}, "192.0.2.77", 8080)}
	r.Weight, r.Cluster = 2.5, "BLUE"
	r.Metadata = map[string]string{"gRPC_port": "9090", "say": `"a&b=c", ü`}
	return r
}
