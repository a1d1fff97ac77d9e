package nacosclient_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

func TestCalls_CarryWhatTheContractSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		fake := c.Nodes[0]
		client := newClient(t, c, func(o *nacosclient.Options) { o.AppName, o.Namespace = "shop", "dev" })
		r := registration()
		r.Service.Namespace = "" // the client's

		require.NoError(t, client.Register(t.Context(), r))
		got := fake.Requests(http.MethodPost, "/ns/instance")[0]
		require.Empty(t, got.Form, "everything in the query")
		for name, want := range map[string]string{
			"namespaceId": "dev", "serviceName": "DEFAULT_GROUP@@orders", "groupName": "DEFAULT_GROUP",
			"clusterName": "BLUE", "ip": "192.0.2.77", "port": "8080", "weight": "2.5", "enabled": "true", "enable": "true",
			"healthy": "true", "ephemeral": "true", "app": "shop",
		} {
			require.Equal(t, want, got.Query.Get(name), name)
		}
		for name, want := range map[string]string{
			"User-Agent": wire.ClientAgent, "Client-Version": wire.ClientAgent, "Request-Module": "Naming",
		} {
			require.Equal(t, want, got.Header.Get(name), name)
		}
		require.NotEmpty(t, got.Header.Get("RequestId"))
		require.Empty(t, got.Header.Get("Content-Type"))
		stored := fake.Instances("dev", "DEFAULT_GROUP@@orders")
		require.Len(t, stored, 1)
		require.Equal(t, r.Metadata, stored[0].Metadata)

		r.Enabled = false
		require.NoError(t, client.Update(t.Context(), r))
		update := fake.Requests(http.MethodPut, "/ns/instance")[0].Query
		require.Equal(t, "false", update.Get("enabled"))
		require.Equal(t, "false", update.Get("enable"))

		reply, err := client.Beat(t.Context(), r, false)
		require.NoError(t, err)
		require.Equal(t, wire.CodeOK, reply.Code)
		require.True(t, reply.LightBeat())
		beat := fake.Beats()[0]
		require.Equal(t, "application/x-www-form-urlencoded;charset=UTF-8", beat.Header.Get("Content-Type"))
		require.False(t, beat.Query.Has("beat"))
		sent, err := wire.ParseBeat(beat.Form.Get("beat"))
		require.NoError(t, err)
		require.Equal(t, &wire.Beat{
			IP: "192.0.2.77", Port: 8080, Cluster: "BLUE", ServiceName: "DEFAULT_GROUP@@orders", Weight: 2.5,
			Metadata: r.Metadata, Ephemeral: true, Scheduled: true,
		}, sent)

		_, err = client.Beat(t.Context(), r, true)
		require.NoError(t, err)
		require.Empty(t, fake.Beats()[1].Form, "a light beat has no body")
		require.Equal(t, "BLUE", fake.Beats()[1].Query.Get("clusterName"))

		r.Ephemeral = false
		require.NoError(t, client.Deregister(t.Context(), r))
		require.Equal(t, "false", fake.Requests(http.MethodDelete, "/ns/instance")[0].Query.Get("ephemeral"))
	})
}

func TestCalls_List(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		client := newClient(t, c, nil)
		c.Nodes[0].Put("public", "g@@s", testutil.FakeInstance{IP: "192.0.2.9", Port: 1, Weight: 0.5, Healthy: true, Enabled: true, Ephemeral: true})
		list, err := client.List(t.Context(), registry.ServiceID{Group: "g", Name: "s"}, 4000, "192.0.2.8")
		require.NoError(t, err)
		require.Equal(t, "g@@s", list.Name)
		require.Equal(t, int64(3000), list.CacheMillis)
		require.Len(t, list.Hosts, 1)
		require.Equal(t, "192.0.2.9#1#DEFAULT#g@@s", list.Hosts[0].InstanceID)
		q := c.Nodes[0].Requests(http.MethodGet, "/ns/instance/list")[0].Query
		for name, want := range map[string]string{
			"namespaceId": "public", "serviceName": "g@@s", "clusters": "", "udpPort": "4000", "clientIP": "192.0.2.8", "healthyOnly": "false",
		} {
			require.True(t, q.Has(name), name)
			require.Equal(t, want, q.Get(name), name)
		}
		list, err = client.List(t.Context(), registry.ServiceID{Name: "unknown"}, 0, "")
		require.NoError(t, err)
		require.Empty(t, list.Hosts)
		names, err := client.Services(t.Context(), "", "g")
		require.NoError(t, err)
		require.Equal(t, []string{"s"}, names)
	})
}

func TestCalls_RefuseWhatTheServerWould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		client := newClient(t, c, nil)
		for name, change := range map[string]func(*registry.Registration){
			"no name":      func(r *registry.Registration) { r.Service.Name = "" },
			"joined name":  func(r *registry.Registration) { r.Service.Name = "g@@s" },
			"odd name":     func(r *registry.Registration) { r.Service.Name = "a b" },
			"no ip":        func(r *registry.Registration) { r.IP = "" },
			"bad ip":       func(r *registry.Registration) { r.IP = "1.2.3.400" },
			"bad port":     func(r *registry.Registration) { r.Port = 65536 },
			"bad cluster":  func(r *registry.Registration) { r.Cluster = "a_b" },
			"bad weight":   func(r *registry.Registration) { r.Weight = -1 },
			"heavy weight": func(r *registry.Registration) { r.Weight = 10001 },
		} {
			r := registration()
			change(&r)
			require.Error(t, client.Register(t.Context(), r), name)
			require.Error(t, client.Update(t.Context(), r), name)
			require.Error(t, client.Deregister(t.Context(), r), name)
			_, err := client.Beat(t.Context(), r, true)
			require.Error(t, err, name)
		}
		_, err := client.List(t.Context(), registry.ServiceID{Name: "a b"}, 0, "")
		require.Error(t, err)
		require.Equal(t, []int{0}, c.Requests())
	})
}

func TestCR4_CloseEndsCallsAndIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		for _, node := range c.Nodes {
			node.SetFault(testutil.Always(silent))
		}
		client := newClient(t, c, nil)
		ended := make(chan error, 50)
		for range cap(ended) {
			go func() {
				_, err := client.ServerStatus(t.Context())
				ended <- err
			}()
		}
		synctest.Wait()
		began := time.Now()
		require.NoError(t, client.Close())
		require.Zero(t, time.Since(began))
		for range cap(ended) {
			require.ErrorIs(t, <-ended, nacosclient.ErrClosed)
		}
		_, err := client.ServerStatus(t.Context())
		require.ErrorIs(t, err, nacosclient.ErrClosed)
		require.NoError(t, client.Close())
	})
}

func TestCR4_CloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		client, err := nacosclient.New(nacosclient.Options{
			Servers: []string{"h"},
			Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				<-stuck // deaf to its context
				return nil, http.ErrServerClosed
			}),
		})
		require.NoError(t, err)
		go func() { _, _ = client.ServerStatus(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		require.ErrorContains(t, client.Close(), "1 calls did not end")
		require.Equal(t, 2*time.Second, time.Since(began))
		close(stuck)
		synctest.Wait()
		require.NoError(t, client.Close())
	})
}

// The client's own transport, over a real socket.
func TestCase17_NewAndCloseLeaveNothing(t *testing.T) {
	for range 100 {
		client, err := nacosclient.New(nacosclient.Options{Servers: []string{"127.0.0.1:1"}})
		require.NoError(t, err)
		_, err = client.ServerStatus(t.Context())
		require.Error(t, err)
		require.NoError(t, client.Close())
		_, err = nacosclient.New(nacosclient.Options{Servers: []string{"bad entry"}})
		require.Error(t, err)
	}
}

func TestCR9_TheSameAnswerIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: http.StatusBadGateway, Body: "no gate"}))
		err := newClient(t, c, nil).Register(t.Context(), registration())
		require.ErrorContains(t, err, "failed 3 times")
		require.Equal(t, 1, strings.Count(err.Error(), "no gate"))
	})
}
