package nacos_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
)

func watching(o *nacos.Options) { o.Watch.Enabled = true }

// stored returns the one instance that the server has.
func stored(t *testing.T, c *testutil.Cluster) testutil.FakeInstance {
	t.Helper()
	all := c.Nodes[0].Instances("public", service)
	require.Len(t, all, 1)
	return all[0]
}

// edit changes the stored instance as an operator does in a console.
func edit(t *testing.T, c *testutil.Cluster, change func(*testutil.FakeInstance)) {
	t.Helper()
	i := stored(t, c)
	change(&i)
	c.Nodes[0].Put("public", service, i)
}

// The operator sets another weight; three beats later the registry is restarted
// empty, and the beats bring the instance back.
func TestCase25_WhatAnOperatorChangedSurvivesARestart(t *testing.T) {
	for name, tc := range map[string]struct {
		watch nacos.Watch
		want  float64
	}{
		"watch on":  {nacos.Watch{Enabled: true}, 5},
		"watch off": {nacos.Watch{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testutil.NewCluster(t, 1)
				r := newRegistry(t, c, func(o *nacos.Options) { o.Watch = tc.watch })
				reg := registration()
				reg.Metadata = map[string]string{"version": "1"}
				require.NoError(t, r.Register(t.Context(), reg))
				time.Sleep(time.Second)
				edit(t, c, func(i *testutil.FakeInstance) { i.Weight, i.Metadata = 5, map[string]string{"version": "2"} })
				time.Sleep(3 * period)
				require.EqualValues(t, 5, stored(t, c).Weight, "beats change nothing")

				c.Nodes[0].Wipe()
				time.Sleep(2 * period)
				require.Equal(t, tc.want, stored(t, c).Weight)
				require.Equal(t, map[float64]string{5: "2", 1: "1"}[tc.want], stored(t, c).Metadata["version"])
				lists := c.Nodes[0].Requests(http.MethodGet, "/ns/instance/list")
				require.Equal(t, tc.watch.Enabled, len(lists) > 0, "a watch that is off asks nothing")
			})
		})
	}
}

func TestWatch_TellsWhatWasAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, watching)
		var told []registry.Registration
		r.Watch(func(reg registry.Registration) { told = append(told, reg) })
		reg := registration()
		require.NoError(t, r.Register(t.Context(), reg))
		time.Sleep(63 * time.Second) // between two looks and two beats
		require.Empty(t, told, "nothing was changed")

		edit(t, c, func(i *testutil.FakeInstance) { i.Metadata = map[string]string{"color": "green"} })
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Len(t, told, 1, "once, with the next look")
		require.Equal(t, reg.Key(), told[0].Key())
		require.Equal(t, "green", told[0].Metadata["color"])

		require.NoError(t, r.SetStatus(t.Context(), reg, registry.StatusDown))
		require.Equal(t, "green", stored(t, c).Metadata["color"], "a status change carries it")
		require.NoError(t, r.Deregister(t.Context(), reg))
		c.ForgetRequests()
		time.Sleep(time.Minute)
		require.Empty(t, c.Nodes[0].Requests("", ""), "the watch ends with the registration")
	})
}

// An edit before the watch first saw what it wants is not taken for an answer of
// a server that lags: it is there at the second look, too.
func TestWatch_AnEditBeforeTheFirstLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].SetFault(func(r testutil.Request) *testutil.Fault {
			if r.Is(http.MethodGet, "/ns/instance/list") {
				return &testutil.Fault{Delay: time.Second}
			}
			return nil
		})
		r := newRegistry(t, c, watching)
		require.NoError(t, r.Register(t.Context(), registration()))
		edit(t, c, func(i *testutil.FakeInstance) { i.Weight = 5 })
		time.Sleep(63 * time.Second) // between two looks and two beats
		c.Nodes[0].SetFault(nil)
		c.Nodes[0].Wipe()
		time.Sleep(2 * period)
		require.EqualValues(t, 5, stored(t, c).Weight)
	})
}

// A second server lags: it still lists what was before an update of our own.
func TestWatch_AServerThatLagsDoesNotUndoAnUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, watching)
		var told []registry.Registration
		r.Watch(func(reg registry.Registration) { told = append(told, reg) })
		reg := registration()
		require.NoError(t, r.Register(t.Context(), reg))
		time.Sleep(time.Second)
		reg.Weight = 7
		require.NoError(t, r.Update(t.Context(), reg))
		edit(t, c, func(i *testutil.FakeInstance) { i.Weight = 1 })
		time.Sleep(10 * time.Second)
		edit(t, c, func(i *testutil.FakeInstance) { i.Weight = 7 }) // it caught up
		time.Sleep(30 * time.Second)
		synctest.Wait()
		require.Empty(t, told, "not even for a while")
		c.Nodes[0].Wipe()
		time.Sleep(2 * period)
		require.EqualValues(t, 7, stored(t, c).Weight)
	})
}

// An update of our own that is made while a look is under way is not undone by what
// that look saw.
func TestWatch_AnUpdateDuringALookCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		onWire := c.Transport(t)
		var slow atomic.Bool
		r := newRegistryOver(t, c, roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := onWire.RoundTrip(req)
			if req.Method == http.MethodGet && slow.Load() {
				time.Sleep(time.Second) // the answer is older than it looks
			}
			return resp, err
		}), watching)
		var told []registry.Registration
		r.Watch(func(reg registry.Registration) { told = append(told, reg) })
		reg := registration()
		require.NoError(t, r.Register(t.Context(), reg))
		time.Sleep(time.Second)
		edit(t, c, func(i *testutil.FakeInstance) { i.Weight = 5 })
		slow.Store(true)
		time.Sleep(9*time.Second + 500*time.Millisecond)
		reg.Weight = 7
		require.NoError(t, r.Update(t.Context(), reg))
		slow.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, told)
		c.Nodes[0].Wipe()
		time.Sleep(2 * period)
		require.EqualValues(t, 7, stored(t, c).Weight)
	})
}

func TestWatch_WhatCannotWorkIsNotAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, func(o *nacos.Options) { watching(o); o.Logger = log.logger() })
		require.NoError(t, r.Register(t.Context(), registration()))
		time.Sleep(time.Second)
		edit(t, c, func(i *testutil.FakeInstance) {
			i.Metadata = map[string]string{registry.MetadataBeatInterval: "soon"}
		})
		time.Sleep(time.Minute)
		require.Contains(t, log.String(), "cannot be adopted")
		c.Nodes[0].Wipe()
		time.Sleep(2 * period)
		require.Empty(t, stored(t, c).Metadata)
	})
}

// A listener of an adopted change that calls back does not wait for itself.
func TestWatch_TheListenerMayDeregister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, watching)
		var done sync.WaitGroup
		done.Add(1)
		r.Watch(func(reg registry.Registration) {
			defer done.Done()
			if err := r.Deregister(t.Context(), reg); err != nil {
				t.Error(err)
			}
		})
		require.NoError(t, r.Register(t.Context(), registration()))
		time.Sleep(time.Second)
		edit(t, c, func(i *testutil.FakeInstance) { i.Weight = 2 })
		done.Wait()
		require.Empty(t, c.Nodes[0].Instances("public", service))
	})
}

func TestUpdate_IsOneCallAndTheBeatsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		reg := registration()
		require.NoError(t, r.Register(t.Context(), reg))
		time.Sleep(period)
		c.ForgetRequests()
		reg.Weight = 3
		reg = withMillis(reg, registry.MetadataBeatInterval, 2*time.Second)
		require.NoError(t, r.Update(t.Context(), reg))
		require.Equal(t, []int{1}, c.Requests())
		require.Len(t, c.Nodes[0].Requests(http.MethodPut, "/ns/instance"), 1)
		require.EqualValues(t, 3, stored(t, c).Weight)
		require.Equal(t, 2*time.Second, r.Beats()[0].Interval)
		time.Sleep(30 * time.Second)
		require.True(t, stored(t, c).Healthy)

		c.Nodes[0].Wipe()
		time.Sleep(period)
		require.EqualValues(t, 3, stored(t, c).Weight, "what was updated is what is wanted")

		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 500}))
		reg.Weight = 9
		require.Error(t, r.Update(t.Context(), reg))
		c.Nodes[0].SetFault(nil)
		c.Nodes[0].Wipe()
		time.Sleep(2 * period)
		require.EqualValues(t, 3, stored(t, c).Weight, "an update that failed is not wanted")

		reg.Ephemeral = false
		require.ErrorContains(t, r.Update(t.Context(), reg), "persistent")
		reg.Weight, reg.Ephemeral = -1, true
		require.ErrorContains(t, r.Update(t.Context(), reg), "weight")
	})
}

func TestOptions_NegativeWatchInterval(t *testing.T) {
	_, err := nacos.New(nacos.Options{Connection: nacos.Connection{Servers: []string{"127.0.0.1"}}, Watch: nacos.Watch{Enabled: true, Interval: -1}})
	require.ErrorContains(t, err, "watch interval")
}
