package nacos_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
)

// Two hundred registrations at a server that accepts and never answers.
func TestCase18_CloseIsBoundedAndSilentAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		var log logBuffer
		r := newRegistry(t, c, func(o *nacos.Options) { o.Logger = log.logger() })
		for i := range 200 {
			reg := registration()
			reg.Port = 1 + i
			require.NoError(t, r.Register(t.Context(), reg))
		}
		for _, node := range c.Nodes {
			node.SetFault(testutil.Always(testutil.Fault{Delay: time.Hour}))
		}
		time.Sleep(time.Minute)
		require.Contains(t, log.String(), "beat failed")
		began := time.Now()
		require.NoError(t, r.Close())
		require.Zero(t, time.Since(began))
		before := log.String()
		c.ForgetRequests()
		time.Sleep(time.Minute)
		require.Equal(t, before, log.String())
		require.Equal(t, []int{0, 0}, c.Requests())
		require.Empty(t, r.Beats())
	})
}

func TestCR4_CloseNamesWhatDidNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		stuck := make(chan struct{})
		r := newRegistryOver(t, c, roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPost {
				return c.Transport(t).RoundTrip(req)
			}
			<-stuck // deaf to its context
			return nil, http.ErrServerClosed
		}), nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		time.Sleep(6 * time.Second)
		began := time.Now()
		require.ErrorContains(t, r.Close(), "192.0.2.77:8080")
		require.Equal(t, 2*time.Second, time.Since(began))
		close(stuck)
		synctest.Wait()
		require.NoError(t, r.Close())
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCR4_CloseEndsARegisterInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Delay: time.Hour}))
		ended := make(chan error, 2)
		for range cap(ended) { // one with the server, one that waits for its turn
			go func() { ended <- r.Register(t.Context(), registration()) }()
		}
		synctest.Wait()
		require.NoError(t, r.Close())
		for range cap(ended) {
			require.ErrorIs(t, <-ended, registry.ErrClosed)
		}
	})
}

func TestASharedClientOutlivesTheRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		client, err := nacosclient.New(nacosclient.Options{Servers: c.Addrs, Transport: c.Transport(t)})
		require.NoError(t, err)
		r, err := nacos.New(nacos.Options{Connection: nacos.Connection{Client: client}})
		require.NoError(t, err)
		require.NoError(t, r.Close())
		_, err = client.ServerStatus(t.Context())
		require.NoError(t, err)
		require.NoError(t, client.Close())
	})
}

// With the registry up, refusing and silent; goleak counts what is left.
func TestCase17_NewAndCloseLeaveNothing(t *testing.T) {
	faults := map[string]*testutil.Fault{"up": nil, "down": {Reset: true}, "silent": {Delay: time.Hour}}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testutil.NewCluster(t, 1)
				c.Nodes[0].SetFault(func(testutil.Request) *testutil.Fault { return fault })
				for i := range 100 {
					r := newRegistry(t, c, nil)
					if i < 5 || fault == nil {
						require.Equal(t, fault == nil, r.Register(t.Context(), registration()) == nil)
					}
					require.NoError(t, r.Close())
				}
			})
		})
	}
	for range 100 {
		_, err := nacos.New(nacos.Options{Connection: nacos.Connection{Servers: []string{"not a host"}}})
		require.ErrorContains(t, err, "not a host")
		r, err := nacos.New(nacos.Options{Connection: nacos.Connection{Servers: []string{"127.0.0.1:1"}}})
		require.NoError(t, err)
		require.NoError(t, r.Close())
	}
}

func ExampleNew() {
	r, err := nacos.New(nacos.Options{Connection: nacos.Connection{Servers: []string{"127.0.0.1:8848"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = r.Close() }()
	// r.Register makes an instance known and keeps it alive from here on.
	fmt.Println(len(r.Beats()), "registrations are kept alive")
	// Output: 0 registrations are kept alive
}
