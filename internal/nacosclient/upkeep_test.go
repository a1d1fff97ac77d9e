package nacosclient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
)

// addressServer lists servers at 192.0.2.100:8080 of a cluster's network.
type addressServer struct {
	mu       sync.Mutex
	status   int
	body     string
	requests []string
}

func newAddressServer(t *testing.T, c *testutil.Cluster, body string) *addressServer {
	t.Helper()
	l, err := c.Listen("192.0.2.100:8080")
	require.NoError(t, err)
	a := &addressServer{status: http.StatusOK, body: body}
	testutil.Serve(t, l, a)
	return a
}

func (a *addressServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, r.URL.String())
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func (a *addressServer) say(status int, body string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status, a.body = status, body
}

func (a *addressServer) asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{}, a.requests...)
}

func fromEndpoint(o *nacosclient.Options) { o.Endpoint = "192.0.2.100" }

func up(t *testing.T, client *nacosclient.Client) {
	t.Helper()
	_, err := client.ServerStatus(t.Context())
	require.NoError(t, err)
}

func TestEndpoint_TheListTakesThePlaceOfTheServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 3)
		a := newAddressServer(t, c, "# nodes\n192.0.2.2\n\n 192.0.2.3:8848 \nno host here\n192.0.2.2:8848\n")
		client := newClient(t, c, fromEndpoint) // its own servers do not count
		require.Empty(t, client.Servers(), "nothing runs until the first call")
		require.Empty(t, a.asked())

		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { _, _ = client.ServerStatus(t.Context()) })
		}
		all.Wait()
		require.Equal(t, []string{"/nacos/serverlist"}, a.asked(), "those who wait share one look")
		require.Equal(t, []string{"192.0.2.2", "192.0.2.3:8848"}, client.Servers())
		require.Equal(t, []string{"192.0.2.2", "192.0.2.3"}, client.Hosts())
		require.Equal(t, []int{0, 10, 0}, c.Requests())

		time.Sleep(time.Hour)
		require.Len(t, a.asked(), 1, "a client that is not used asks nothing")
		a.say(http.StatusOK, "192.0.2.1\n")
		up(t, client)
		synctest.Wait()
		require.Equal(t, []string{"192.0.2.1"}, client.Servers(), "behind the caller's back")
		for range 29 {
			up(t, client)
			time.Sleep(time.Second)
		}
		require.Len(t, a.asked(), 2)
		time.Sleep(2 * time.Second)
		up(t, client)
		synctest.Wait()
		require.Len(t, a.asked(), 3, "every 30 s")
	})
}

// Callers at an address server that is away wait once, together, and not for each
// other in a row.
func TestEndpoint_ThoseWhoWaitShareTheErrorToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		l, err := c.Listen("192.0.2.100:8080")
		require.NoError(t, err)
		var asked atomic.Int64
		testutil.Serve(t, l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			<-r.Context().Done()
		}))
		client := newClient(t, c, func(o *nacosclient.Options) { fromEndpoint(o); o.RequestTimeout = 3 * time.Second })
		began := time.Now()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_, err := client.ServerStatus(t.Context())
				if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "list of servers") || took != 3*time.Second {
					t.Errorf("after %s: %v", took, err)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, asked.Load())
		_, err = client.ServerStatus(t.Context())
		require.Error(t, err)
		require.EqualValues(t, 2, asked.Load(), "who comes later asks anew")
	})
}

func TestEndpoint_AListThatWasHadStaysInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		a := newAddressServer(t, c, "192.0.2.1")
		client := newClient(t, c, fromEndpoint)
		up(t, client)
		require.NoError(t, client.ServerListError())
		for _, say := range []struct {
			status int
			body   string
		}{{500, "broken"}, {200, ""}, {200, "<html>\n<body>log in</body>\n"}, {404, ""}} {
			a.say(say.status, say.body)
			time.Sleep(31 * time.Second)
			up(t, client)
			synctest.Wait()
			require.Error(t, client.ServerListError(), "%v", say)
			require.Equal(t, []string{"192.0.2.1"}, client.Servers())
		}
		a.say(200, "192.0.2.1\n")
		time.Sleep(31 * time.Second)
		up(t, client)
		synctest.Wait()
		require.NoError(t, client.ServerListError())
	})
}

func TestEndpoint_WithoutAListCallsFailAndTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		a := newAddressServer(t, c, "")
		a.say(503, "not yet")
		client := newClient(t, c, func(o *nacosclient.Options) { fromEndpoint(o); o.Namespace = "dev" })
		_, err := client.ServerStatus(t.Context())
		require.ErrorContains(t, err, "not yet")
		require.ErrorContains(t, client.Ready(t.Context()), "list of servers")
		a.say(200, "192.0.2.1")
		up(t, client)
		require.Equal(t, "/nacos/serverlist?namespace=dev", a.asked()[0])

		silent := newClient(t, c, func(o *nacosclient.Options) { o.Endpoint, o.EndpointPort = "192.0.2.200", 80 })
		_, err = silent.ServerStatus(t.Context())
		require.ErrorContains(t, err, "refused")
		require.NoError(t, silent.Close())
		require.ErrorIs(t, silent.Ready(t.Context()), nacosclient.ErrClosed)
	})
}

func TestEndpoint_AFailedServerStaysLastAcrossLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		a := newAddressServer(t, c, "192.0.2.1\n192.0.2.2\n")
		client := newClient(t, c, func(o *nacosclient.Options) { fromEndpoint(o); o.ServerListRefresh = 2 * time.Second })
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 503}))
		up(t, client)
		a.say(200, "192.0.2.1\n192.0.2.2\n192.0.2.3\n")
		time.Sleep(3 * time.Second)
		up(t, client)
		synctest.Wait()
		require.Len(t, client.Servers(), 3)
		c.ForgetRequests()
		up(t, client)
		require.Equal(t, []int{0, 1}, c.Requests())
	})
}

func TestEndpoint_Forms(t *testing.T) {
	for _, bad := range []string{"a b", "ftp://x", "host:", "host:0", "http://", "::1", "host/path"} {
		require.ErrorContains(t, nacosclient.Options{Endpoint: bad}.Validate(), "endpoint", bad)
	}
	for _, good := range []string{"host", "host:80", "[::1]", "http://host", "https://host:8443/"} {
		require.NoError(t, nacosclient.Options{Endpoint: good}.Validate(), good)
	}
	require.ErrorContains(t, nacosclient.Options{Endpoint: "host", EndpointPort: 70000}.Validate(), "endpoint port")
	require.ErrorContains(t, nacosclient.Options{Servers: []string{"h"}, ServerListRefresh: -1}.Validate(), "server list refresh")
}

// idling counts how often its idle connections were closed.
type idling struct {
	http.RoundTripper
	closed atomic.Int32
}

func (i *idling) CloseIdleConnections() { i.closed.Add(1) }

func TestNames_AreLookedUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		transport := &idling{RoundTripper: testutil.Transport(t, func(ctx context.Context, network, _ string) (net.Conn, error) {
			return c.Dial(ctx, network, c.Addrs[0])
		})}
		var mu sync.Mutex
		answer, failure, lookups := []netip.Addr{netip.MustParseAddr("192.0.2.1")}, error(nil), 0
		client := newClient(t, c, func(o *nacosclient.Options) {
			o.Servers, o.Transport = []string{"nacos", "192.0.2.7"}, transport
			o.Lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
				mu.Lock()
				defer mu.Unlock()
				lookups++
				if host != "nacos" {
					return nil, errors.New("an address is not looked up")
				}
				return answer, failure
			}
		})
		use := func() {
			for range 31 {
				up(t, client)
				time.Sleep(time.Second)
			}
			synctest.Wait()
		}
		become := func(err error, addrs ...string) {
			mu.Lock()
			defer mu.Unlock()
			answer, failure = nil, err
			for _, a := range addrs {
				answer = append(answer, netip.MustParseAddr(a))
			}
		}
		use()
		become(nil, "192.0.2.1")
		use()
		require.Zero(t, transport.closed.Load())
		become(nil, "192.0.2.2", "192.0.2.1")
		use()
		require.EqualValues(t, 1, transport.closed.Load(), "the name leads elsewhere, too")
		become(nil, "192.0.2.1", "192.0.2.2")
		use()
		require.EqualValues(t, 1, transport.closed.Load(), "the order means nothing")
		become(errors.New("no resolver"))
		use()
		require.EqualValues(t, 1, transport.closed.Load())
		mu.Lock()
		defer mu.Unlock()
		require.LessOrEqual(t, lookups, 6)
	})
}

func TestSetServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		client := newClient(t, c, func(o *nacosclient.Options) { o.Servers = c.Addrs[:1] })
		up(t, client)
		require.ErrorContains(t, client.SetServers([]string{"fine", "not fine"}), "not fine")
		require.ErrorContains(t, client.SetServers(nil), "no server")
		up(t, client)
		require.NoError(t, client.SetServers(c.Addrs[1:]))
		require.NoError(t, client.SetServers(c.Addrs[1:]))
		up(t, client)
		require.Equal(t, []int{2, 1}, c.Requests())
		newAddressServer(t, c, "192.0.2.1")
		listed := newClient(t, c, fromEndpoint)
		require.ErrorContains(t, listed.SetServers(c.Addrs), "address server")
	})
}

// A resolver and an address server that never answer hold up neither calls nor
// Close.
func TestCase17_UpkeepEndsWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		client := newClient(t, c, func(o *nacosclient.Options) {
			o.Servers = []string{"nacos"}
			o.Transport = testutil.Transport(t, func(ctx context.Context, network, _ string) (net.Conn, error) {
				return c.Dial(ctx, network, c.Addrs[0])
			})
			o.Lookup = func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		})
		began := time.Now()
		up(t, client)
		require.NoError(t, client.Close())
		require.Zero(t, time.Since(began))

		deaf, err := c.Listen("192.0.2.100:8080")
		require.NoError(t, err)
		testutil.Serve(t, deaf, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		waiting := newClient(t, c, fromEndpoint)
		ended := make(chan error)
		go func() { _, err := waiting.ServerStatus(t.Context()); ended <- err }()
		synctest.Wait()
		require.NoError(t, waiting.Close())
		require.Zero(t, time.Since(began))
		require.ErrorIs(t, <-ended, nacosclient.ErrClosed)
	})
}

func TestEndpoint_WhatIsWrongWithAListIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := testutil.NewCluster(t, 1)
		a := newAddressServer(t, c, "192.0.2.1\nno host\nme:secret@192.0.2.9\n")
		client := newClient(t, c, func(o *nacosclient.Options) {
			fromEndpoint(o)
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		again := func() {
			time.Sleep(31 * time.Second)
			up(t, client)
			synctest.Wait()
		}
		up(t, client)
		for range 5 {
			again()
		}
		const warning = "lists what is no server"
		require.Equal(t, 1, strings.Count(log.String(), warning), log.String())
		require.NotContains(t, log.String(), "secret")
		a.say(http.StatusOK, "192.0.2.1\nneither host\n")
		again()
		require.Equal(t, 2, strings.Count(log.String(), warning))

		// Words of a page could pass for hosts.
		for _, page := range []string{"<html>\nForbidden\n</html>", "{\n\"servers\": []\n}", "maintenance\n<br>\n"} {
			a.say(http.StatusOK, page)
			again()
			require.ErrorContains(t, client.ServerListError(), "no list of servers", page)
			require.Equal(t, []string{"192.0.2.1"}, client.Servers())
		}
	})
}
