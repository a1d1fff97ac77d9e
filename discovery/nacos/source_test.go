package nacos_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/discoverytest"
	"github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

func TestSource_Suite(t *testing.T) {
	for _, push := range []bool{false, true} {
		t.Run(fmt.Sprintf("push %v", push), func(t *testing.T) {
			discoverytest.Run(t, discoverytest.Harness{New: func(t *testing.T, content discoverytest.Catalogue) discoverytest.Subject {
				p := newPushing(t)
				for id, instances := range content {
					p.set(id, instances)
				}
				return discoverytest.Subject{
					Source: newSource(t, p.listener.Dial, []string{"127.0.0.1"}, nacos.Push{Enabled: push}),
					Set:    p.set,
					Pushes: push,
					Fail:   func() { p.SetFault(testutil.Always(testutil.Fault{Status: 503, Body: "DOWN"})) },
				}
			}})
		})
	}
}

// set replaces the instances of a service, and pushes the list to whoever asked
// for it last.
func (p *pushing) set(id registry.ServiceID, instances []registry.Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.Instances(id.Namespace, id.Grouped()) {
		p.Remove(id.Namespace, id.Grouped(), i.Cluster, i.IP, i.Port)
	}
	for _, i := range instances {
		p.Put(id.Namespace, id.Grouped(), testutil.FakeInstance{
			IP: i.IP, Port: i.Port, Weight: i.Weight, Healthy: i.Healthy, Enabled: i.Enabled, Ephemeral: i.Ephemeral,
			Cluster: i.Cluster, Metadata: i.Metadata,
		})
	}
	if to := p.target(); to != nil && to.Port != 0 {
		_, _ = p.conn.WriteToUDP(p.datagram("dom", id.Grouped()), to)
	}
}

func TestFetch_CarriesEveryField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].SetCacheFor(10 * time.Second)
		c.Nodes[0].Put("dev", "g@@s", testutil.FakeInstance{
			IP: "[2001:db8::1]", Port: 81, Weight: 0.5, Enabled: true, Cluster: "BLUE", Metadata: map[string]string{"gRPC_port": "9"},
		})
		s := newSource(t, c.Dial, c.Addrs, nacos.Push{})
		id := registry.ServiceID{Namespace: "dev", Group: "g", Name: "s"}
		l, err := s.Fetch(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, discovery.Listing{
			Service:  id,
			CacheFor: 10 * time.Second,
			Instances: []registry.Instance{{
				ID: "[2001:db8::1]#81#BLUE#g@@s", Service: id, IP: "2001:db8::1", Port: 81, Cluster: "BLUE", Weight: 0.5,
				Enabled: true, Metadata: map[string]string{"gRPC_port": "9"},
			}},
		}, l)
		q := c.Nodes[0].Requests("GET", "/ns/instance/list")[0].Query
		require.Equal(t, "g@@s", q.Get("serviceName"))
		require.Equal(t, "false", q.Get("healthyOnly"))
		require.Equal(t, "0", q.Get("udpPort"), "no push, no port")
	})
}

// Two servers whose clocks are ten seconds apart answer in turn; what they say
// is passed on whatever the time in it, and the client tells each change of
// content once.
func TestCase13_ContentCountsAndNotTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		turn := 0
		for i, node := range c.Nodes {
			lastRefTime := int64(1_000_000 - 10_000*i)
			node.SetFault(func(testutil.Request) *testutil.Fault {
				turn++
				// The content changes with every second answer.
				return &testutil.Fault{Status: 200, Body: fmt.Sprintf(
					`{"name":%q,"clusters":"","cacheMillis":1000,"lastRefTime":%d,"hosts":[{"ip":"192.0.2.%d","port":1}]}`,
					service, lastRefTime, turn/2)}
			})
		}
		start := 0
		s := newSourceOver(t, c, func(int) int { start++; return start % 2 })
		client, err := discovery.New(discovery.Options{Sources: []discovery.Source{s}, RefreshInterval: time.Second})
		require.NoError(t, err)
		var told []string
		sub, err := client.Subscribe(orders, func(snapshot *discovery.Snapshot) {
			for _, i := range snapshot.Instances {
				told = append(told, i.IP)
			}
		})
		require.NoError(t, err)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		sub.Close()
		require.NoError(t, client.Close())
		synctest.Wait()
		require.Greater(t, len(told), 5)
		for n, ip := range told {
			require.Equal(t, fmt.Sprintf("192.0.2.%d", n), ip, "each change once and in order")
		}
	})
}

func TestCR11_AFailureIsNotAnEmptyList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		s := newSource(t, c.Dial, c.Addrs, nacos.Push{})
		for _, body := range []string{"", "{}", "ok", `{"hosts":null}`, `{"cacheMillis":10000}`, "<html></html>"} {
			c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 200, Body: body}))
			_, err := s.Fetch(t.Context(), orders)
			require.Error(t, err, body)
		}
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 200, Body: `{"name":"DEFAULT_GROUP@@orders","clusters":"","cacheMillis":10000,"hosts":[]}`}))
		l, err := s.Fetch(t.Context(), orders)
		require.NoError(t, err, "the reply for an unknown service")
		require.Empty(t, l.Instances)
	})
}

func TestFetch_OddCacheMillisIsLeftToTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		s := newSource(t, c.Dial, c.Addrs, nacos.Push{})
		for _, millis := range []int64{-1, 1 << 62} {
			c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 200, Body: fmt.Sprintf(`{"cacheMillis":%d,"hosts":[]}`, millis)}))
			l, err := s.Fetch(t.Context(), orders)
			require.NoError(t, err)
			require.Zero(t, l.CacheFor)
		}
	})
}

func TestCase18_CloseEndsFetchesAtASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		for _, node := range c.Nodes {
			node.SetFault(testutil.Always(testutil.Fault{Delay: time.Hour}))
		}
		s := newSource(t, c.Dial, c.Addrs, nacos.Push{})
		ended := make(chan error, 200)
		for i := range cap(ended) {
			go func() {
				_, err := s.Fetch(t.Context(), registry.ServiceID{Name: fmt.Sprint("s", i)})
				ended <- err
			}()
		}
		synctest.Wait()
		began := time.Now()
		require.NoError(t, s.Close())
		require.Zero(t, time.Since(began))
		for range cap(ended) {
			require.ErrorIs(t, <-ended, discovery.ErrClosed)
		}
	})
}

func TestCase17_NewAndCloseLeaveNothing(t *testing.T) {
	for _, push := range []nacos.Push{{}, {Enabled: true}} {
		for range 100 {
			s, err := nacos.NewSource(nacos.Options{Connection: nacos.Connection{Servers: []string{"127.0.0.1:1"}}, Push: push})
			require.NoError(t, err)
			_, err = s.Fetch(t.Context(), orders)
			require.Error(t, err)
			require.NoError(t, s.Close())
			_, err = nacos.NewSource(nacos.Options{Connection: nacos.Connection{Servers: []string{"not a host"}}, Push: push})
			require.ErrorContains(t, err, "not a host")
		}
	}
}

func TestModule(t *testing.T) {
	var client *discovery.Client
	app := fxtest.New(t, nacos.Module, discovery.Module,
		fx.Supply(nacos.Options{Connection: nacos.Connection{Servers: []string{"127.0.0.1:1"}}}, discovery.Options{FirstFetchTimeout: time.Minute}),
		fx.Populate(&client))
	app.RequireStart()
	_, err := client.Snapshot(t.Context(), orders)
	require.Error(t, err, "nobody is there")
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	app.RequireStop()

	broken := fx.New(fx.NopLogger, nacos.Module, discovery.Module, fx.Supply(nacos.Options{Connection: nacos.Connection{Servers: []string{"not a host"}}}),
		fx.Invoke(func(*discovery.Client) {}))
	require.ErrorContains(t, broken.Err(), "not a host")
}

func ExampleNewSource() {
	source, err := nacos.NewSource(nacos.Options{Connection: nacos.Connection{Servers: []string{"127.0.0.1:8848"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// client.Snapshot looks services up from here on; it closes the source.
	fmt.Println(source.Name(), client.Close())
	// Output: nacos <nil>
}
