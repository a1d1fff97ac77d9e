package nacos_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/internal/testutil"
)

// The whole way from the registry's answer to callers and listeners: a registry
// that restarted empty, one whose last instance was deregistered, and one that
// answers without a list, with the protection on and off.
func TestCase12_TheMatrixOverTheWire(t *testing.T) {
	for name, happens := range map[string]func(*testutil.FakeNacos){
		"restarted empty":       (*testutil.FakeNacos).Wipe,
		"the last deregistered": func(f *testutil.FakeNacos) { f.Remove("public", service, "", "192.0.2.7", 80) },
		"null hosts": func(f *testutil.FakeNacos) {
			f.SetFault(testutil.Always(testutil.Fault{Status: 200, Body: fmt.Sprintf(`{"name":%q,"hosts":null,"cacheMillis":3000}`, service)}))
		},
	} {
		for _, protected := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, protection %v", name, protected), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := testutil.NewCluster(t, 1)
					c.Nodes[0].Put("public", service, withoutBeats(fakeInstance("192.0.2.7", 80)))
					client, err := discovery.New(discovery.Options{
						Sources:         []discovery.Source{newSourceOver(t, c, func(int) int { return 0 })},
						EmptyProtection: discovery.EmptyProtection{Enabled: protected, TTL: 2 * time.Minute},
					})
					require.NoError(t, err)
					defer func() { require.NoError(t, client.Close()) }()
					told := make(chan int, 100)
					_, err = client.Subscribe(orders, func(s *discovery.Snapshot) { told <- len(s.Instances) })
					require.NoError(t, err)
					time.Sleep(time.Second)
					require.Equal(t, 1, <-told)

					happens(c.Nodes[0])
					time.Sleep(time.Minute)
					synctest.Wait()
					got, err := client.Snapshot(t.Context(), orders)
					require.NoError(t, err)
					broken := name == "null hosts"
					require.Equal(t, broken || protected, len(got.Instances) == 1)
					require.Equal(t, broken || protected, got.Stale())
					require.Equal(t, protected && !broken, got.Protected())
					if broken || protected {
						require.Empty(t, told)
					} else {
						require.Equal(t, 0, <-told)
						require.Empty(t, told, "once")
					}

					time.Sleep(2 * time.Minute)
					synctest.Wait()
					got, err = client.Snapshot(t.Context(), orders)
					require.NoError(t, err)
					require.Equal(t, broken, len(got.Instances) == 1, "a protection ends, an outage does not")
					if protected && !broken {
						require.Equal(t, 0, <-told)
					}
				})
			})
		}
	}
}

// withoutBeats keeps an instance on the fake server.
func withoutBeats(i testutil.FakeInstance) testutil.FakeInstance {
	i.Ephemeral = false
	return i
}

// A deregistered instance is gone with the next list; an outage takes nothing
// away, also in a process that starts during it.
func TestCase19_OverTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		for _, ip := range []string{"192.0.2.7", "192.0.2.8"} {
			c.Nodes[0].Put("public", service, withoutBeats(fakeInstance(ip, 80)))
		}
		dir := t.TempDir()
		open := func() *discovery.Client {
			client, err := discovery.New(discovery.Options{
				Sources: []discovery.Source{newSourceOver(t, c, func(int) int { return 0 })},
				Disk:    discovery.Disk{Dir: dir, LoadAtStart: true},
			})
			require.NoError(t, err)
			return client
		}
		list := func(client *discovery.Client) int {
			s, err := client.Snapshot(t.Context(), orders)
			require.NoError(t, err)
			return len(s.Instances)
		}
		client := open()
		require.Equal(t, 2, list(client))
		c.Nodes[0].Remove("public", service, "", "192.0.2.8", 80)
		time.Sleep(4 * time.Second) // lists are kept three
		require.Equal(t, 1, list(client))
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 503}))
		for range 10 {
			time.Sleep(time.Minute)
			require.Equal(t, 1, list(client))
		}
		require.NoError(t, client.Close())
		client = open()
		require.Equal(t, 1, list(client))
		require.NoError(t, client.Close())
	})
}
