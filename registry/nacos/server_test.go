package nacos_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/internal/testutil/nacosserver"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
	"github.com/rollcall-go/rollcall/registry/registrytest"
)

// realServer returns a registry and a second client over our own server.
func realServer(t *testing.T) (*nacos.Registry, *nacosclient.Client) {
	t.Helper()
	r, client, _ := watchedServer(t, nacos.Watch{})
	return r, client
}

func watchedServer(t *testing.T, w nacos.Watch) (*nacos.Registry, *nacosclient.Client, *nacosserver.Server) {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	l := testutil.NewListener()
	server := nacosserver.Start(t, l, nil)
	client, err := nacosclient.New(nacosclient.Options{
		Servers: []string{"127.0.0.1"}, Transport: testutil.Transport(t, l.Dial), RequestTimeout: time.Minute,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	r, err := nacos.New(nacos.Options{Connection: nacos.Connection{Client: client}, Watch: w})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r, client, server
}

func list(t *testing.T, client *nacosclient.Client, id registry.ServiceID) []registry.Instance {
	t.Helper()
	l, err := client.List(t.Context(), id, 0, "")
	require.NoError(t, err)
	var instances []registry.Instance
	for _, h := range l.Hosts {
		instances = append(instances, registry.Instance{
			ID: h.InstanceID, Service: id, IP: h.IP, Port: h.Port, Cluster: h.ClusterName, Weight: h.Weight,
			Healthy: h.Healthy, Enabled: h.Enabled, Ephemeral: h.Ephemeral, Metadata: h.Metadata,
		})
	}
	return instances
}

func TestRegistry_SuiteAgainstTheRealServer(t *testing.T) {
	var client *nacosclient.Client
	registrytest.Run(t, registrytest.Harness{
		New: func(t *testing.T) (r registry.ServiceRegistry) {
			r, client = realServer(t)
			return r
		},
		List: func(t *testing.T, id registry.ServiceID) []registry.Instance { return list(t, client, id) },
	})
}

func TestRegistry_SuiteAgainstTheFake(t *testing.T) {
	var client *nacosclient.Client
	registrytest.Run(t, registrytest.Harness{
		New: func(t *testing.T) registry.ServiceRegistry {
			l := testutil.NewListener()
			testutil.Serve(t, l, testutil.NewFakeNacos())
			var err error
			client, err = nacosclient.New(nacosclient.Options{
				Servers: []string{"127.0.0.1"}, Transport: testutil.Transport(t, l.Dial), RequestTimeout: time.Minute,
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			r, err := nacos.New(nacos.Options{Connection: nacos.Connection{Client: client}})
			require.NoError(t, err)
			return r
		},
		List: func(t *testing.T, id registry.ServiceID) []registry.Instance { return list(t, client, id) },
	})
}

// Both sides of the wire in virtual time.
func TestBeats_KeepAnInstanceAliveOnTheRealServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, client := realServer(t)
		reg := withMillis(registration(), registry.MetadataBeatInterval, 3*time.Second)
		require.NoError(t, r.Register(t.Context(), reg))
		for range 12 {
			time.Sleep(10 * time.Second)
			found := list(t, client, reg.Service)
			require.Len(t, found, 1)
			require.True(t, found[0].Healthy)
		}
		require.Equal(t, 3*time.Second, r.Beats()[0].Interval, "the server returns the instance's own")

		require.NoError(t, r.SetStatus(t.Context(), reg, registry.StatusDown))
		time.Sleep(time.Minute)
		require.Empty(t, list(t, client, reg.Service), "beats do not enable")
		require.NoError(t, r.SetStatus(t.Context(), reg, registry.StatusUp))
		require.Len(t, list(t, client, reg.Service), 1)

		require.NoError(t, r.Close())
		time.Sleep(time.Minute)
		require.Empty(t, list(t, client, reg.Service), "silent and gone")
	})
}

// A persistent instance needs no beats and is taken out as what it is.
func TestCase23_PersistentOnOurServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, client := realServer(t)
		persistent := registration()
		persistent.Ephemeral = false
		require.NoError(t, r.Register(t.Context(), persistent))
		time.Sleep(time.Hour)
		hosts := list(t, client, persistent.Service)
		require.Len(t, hosts, 1)
		require.False(t, hosts[0].Ephemeral)
		require.NoError(t, r.Deregister(t.Context(), persistent))
		_, err := r.Status(t.Context(), persistent)
		require.ErrorIs(t, err, registry.ErrNotFound)
		require.Empty(t, list(t, client, persistent.Service))
	})
}

// An operator changes weight and metadata at our own server, the server loses the
// instance, and the properties are read again: the whole way, watched and not.
func TestCase25_OverTheRealServer(t *testing.T) {
	for name, tc := range map[string]struct {
		watch           nacos.Watch
		weight, renewed float64
		color           string
	}{
		"watch on":  {nacos.Watch{Enabled: true}, 5, 5, "green"},
		"watch off": {nacos.Watch{}, 1, 3, "blue"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, operator, server := watchedServer(t, tc.watch)
				configured := registration()
				configured.Metadata = map[string]string{"color": "blue"}
				params := registry.AutoServiceRegistrationParams{
					ServiceRegistry: r, Registration: configured, Options: registry.DefaultAutoOptions(),
					Customizers: []registry.Customizer{{Name: "c", Customize: func(r *registry.Registration) error {
						r.Metadata["custom"] = "yes"
						return nil
					}}},
				}
				auto, err := registry.NewAutoServiceRegistration(params)
				require.NoError(t, err)
				require.NoError(t, auto.Start(t.Context()))
				time.Sleep(time.Second)
				edited := auto.Registration()
				edited.Weight, edited.Metadata = 5, map[string]string{"color": "green", "custom": "yes"}
				require.NoError(t, operator.Update(t.Context(), edited))
				time.Sleep(3 * period)
				require.EqualValues(t, 5, list(t, operator, configured.Service)[0].Weight)

				server.Set(t, configured.Service, nil)
				require.Empty(t, list(t, operator, configured.Service))
				time.Sleep(2 * period)
				found := list(t, operator, configured.Service)
				require.Len(t, found, 1)
				require.Equal(t, tc.weight, found[0].Weight)
				require.Equal(t, map[string]string{"color": tc.color, "custom": "yes"}, found[0].Metadata)
				require.Equal(t, tc.weight, auto.Registration().Weight)

				configured.Weight, configured.Metadata = 3, map[string]string{"color": "blue", "more": "x"}
				require.NoError(t, auto.Refresh(t.Context(), configured, nil))
				found = list(t, operator, configured.Service)
				require.Equal(t, tc.renewed, found[0].Weight)
				require.Equal(t, map[string]string{"color": tc.color, "custom": "yes", "more": "x"}, found[0].Metadata)
				require.NoError(t, auto.Stop(t.Context()))
				require.Empty(t, list(t, operator, configured.Service))
			})
		})
	}
}
