package nacos_test

import (
	"log/slog"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const service = "DEFAULT_GROUP@@orders"

func registration() registry.Registration {
	return registry.Registration{Instance: registry.NewInstance(registry.ServiceID{Name: "orders"}, "192.0.2.77", 8080)}
}

// newRegistry returns a registry over the cluster, which starts each request
// with the first server.
func newRegistry(t *testing.T, c *testutil.Cluster, change func(*nacos.Options)) *nacos.Registry {
	t.Helper()
	return newRegistryOver(t, c, c.Transport(t), change)
}

func newRegistryOver(t *testing.T, c *testutil.Cluster, transport http.RoundTripper, change func(*nacos.Options)) *nacos.Registry {
	t.Helper()
	client, err := nacosclient.New(nacosclient.Options{
		Servers: c.Addrs, Transport: transport, Rand: func(int) int { return 0 },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	o := nacos.Options{Connection: nacos.Connection{Client: client}}
	if change != nil {
		change(&o)
	}
	r, err := nacos.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func withMillis(r registry.Registration, key string, d time.Duration) registry.Registration {
	r = registry.Registration{Instance: r.Clone()}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	r.Metadata[key] = strconv.FormatInt(d.Milliseconds(), 10)
	return r
}

// onBeat plays a fault for beats only.
func onBeat(f func() *testutil.Fault) func(testutil.Request) *testutil.Fault {
	return func(r testutil.Request) *testutil.Fault {
		if r.Is(http.MethodPut, "/ns/instance/beat") {
			return f()
		}
		return nil
	}
}

// gaps returns the times between the logged beats, the first one since began.
func gaps(began time.Time, beats []testutil.Request) []time.Duration {
	var all []time.Duration
	for _, b := range beats {
		all = append(all, b.Time.Sub(began))
		began = b.Time
	}
	return all
}

func isLight(r testutil.Request) bool { return !r.Form.Has("beat") }

// logBuffer is a log that tests read while others write it.
type logBuffer struct{ testutil.Output }

func (b *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
