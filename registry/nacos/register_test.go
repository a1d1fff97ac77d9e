package nacos_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
)

// The beat is with the server, which answers it after the stop began and lost
// the instance meanwhile.
func TestCase08_NothingFollowsTheDeregistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		c.Nodes[0].SetFault(onBeat(func() *testutil.Fault {
			return &testutil.Fault{Delay: 300 * time.Millisecond, Status: 200, Body: `{"clientBeatInterval":5000,"code":20404}`}
		}))
		time.Sleep(5*time.Second + 100*time.Millisecond)
		require.Len(t, c.Nodes[0].Beats(), 1, "in flight")
		began := time.Now()
		require.NoError(t, r.Deregister(t.Context(), registration()))
		require.Equal(t, 200*time.Millisecond, time.Since(began), "waits for the beat in flight")
		time.Sleep(15 * time.Second)
		all := c.Nodes[0].Requests("", "")
		require.Equal(t, http.MethodDelete, all[len(all)-1].Method)
		require.Len(t, c.Nodes[0].Requests(http.MethodPost, ""), 1, "no second register")
	})
}

// A beat that is never answered is given up, and the deregistration has time
// left for itself.
func TestCR8_ABeatInFlightDoesNotConsumeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		c.Nodes[0].SetFault(onBeat(func() *testutil.Fault { return &testutil.Fault{Delay: time.Hour} }))
		time.Sleep(6 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		require.NoError(t, r.Deregister(ctx, registration()))
		require.Empty(t, c.Nodes[0].Instances("public", service))
	})
}

func TestCR8_DeregisterOnAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 500}))
		require.NoError(t, r.Deregister(t.Context(), registration()))
		require.Len(t, c.Nodes[1].Requests(http.MethodDelete, "/ns/instance"), 1)
	})
}

// A beat that is given up may be on its way all the same: the deregistration waits
// until it has come to an end.
func TestCase08_ABeatThatIsGivenUpIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		onWire := c.Transport(t)
		r := newRegistryOver(t, c, roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Method != http.MethodPut {
				return onWire.RoundTrip(req)
			}
			<-req.Context().Done() // slower than anybody waits
			time.Sleep(100 * time.Millisecond)
			return onWire.RoundTrip(req.WithContext(context.WithoutCancel(req.Context())))
		}), nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		time.Sleep(period + time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.NoError(t, r.Deregister(ctx, registration()))
		time.Sleep(3 * period)
		all := c.Nodes[0].Requests("", "")
		require.Len(t, c.Nodes[0].Beats(), 1, "it arrived after all")
		require.Equal(t, http.MethodDelete, all[len(all)-1].Method)
		require.Empty(t, c.Nodes[0].Instances("public", service))
	})
}

func TestCase09_OneLoopPerInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := r.Register(t.Context(), registration()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		time.Sleep(50*time.Second + time.Millisecond)
		require.Len(t, c.Nodes[0].Beats(), 10)
		require.Len(t, r.Beats(), 1)
		require.NoError(t, r.Deregister(t.Context(), registration()))
		c.Nodes[0].ForgetRequests()
		time.Sleep(time.Minute)
		require.Empty(t, c.Nodes[0].Requests("", ""))
		require.Empty(t, r.Beats())
	})
}

func TestCase22_AFailingDeregisterIsAnErrorAndTheBeatsStayEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 500, Body: "broken"}))
		require.ErrorContains(t, r.Deregister(t.Context(), registration()), "broken")
		c.Nodes[0].SetFault(nil)
		c.Nodes[0].ForgetRequests()
		time.Sleep(time.Minute)
		require.Empty(t, c.Nodes[0].Requests("", ""))
		require.NoError(t, r.Deregister(t.Context(), registration()), "and it can be repeated")
	})
}

func TestCase21_StopTimeIsBoundedWithASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		for _, node := range c.Nodes {
			node.SetFault(testutil.Always(testutil.Fault{Delay: time.Hour}))
		}
		time.Sleep(6 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, r.Deregister(ctx, registration()), context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(began), 3*time.Second)
		require.NoError(t, r.Close())
		require.LessOrEqual(t, time.Since(began), 4*time.Second)
	})
}

func TestCase23_PersistentInstancesAreTakenOutAsSuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		persistent := registration()
		persistent.Ephemeral = false
		require.NoError(t, r.Register(t.Context(), persistent))
		time.Sleep(time.Minute)
		require.Empty(t, c.Nodes[0].Beats())
		require.Zero(t, r.Beats()[0].Interval)
		require.Len(t, c.Nodes[0].Instances("public", service), 1)
		// The caller's copy says otherwise; what was registered counts.
		require.NoError(t, r.Deregister(t.Context(), registration()))
		require.Equal(t, "false", c.Nodes[0].Requests(http.MethodDelete, "/ns/instance")[0].Query.Get("ephemeral"))
		require.Empty(t, c.Nodes[0].Instances("public", service))
	})
}

func TestCase23_ChangingTheKindLeavesNothingOfTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		persistent := registration()
		persistent.Ephemeral = false
		require.NoError(t, r.Register(t.Context(), persistent))
		require.Equal(t, "true", c.Nodes[0].Requests(http.MethodDelete, "/ns/instance")[0].Query.Get("ephemeral"))
		c.Nodes[0].ForgetRequests()
		time.Sleep(time.Minute)
		require.Empty(t, c.Nodes[0].Beats())
	})
}

func TestCase24_TheClusterIsPartOfTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		blue, green := registration(), registration()
		blue.Cluster, green.Cluster = "BLUE", "GREEN"
		require.NoError(t, r.Register(t.Context(), blue))
		require.NoError(t, r.Register(t.Context(), green))
		time.Sleep(90 * time.Second)
		stored := c.Nodes[0].Instances("public", service)
		require.Len(t, stored, 2)
		require.True(t, stored[0].Healthy && stored[1].Healthy)
		require.NoError(t, r.Deregister(t.Context(), blue))
		time.Sleep(90 * time.Second)
		stored = c.Nodes[0].Instances("public", service)
		require.Len(t, stored, 1)
		require.Equal(t, "GREEN", stored[0].Cluster)
	})
}

func TestRegister_AnErrorLeavesNothingAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 500}))
		require.Error(t, r.Register(t.Context(), registration()))
		_, err := r.Status(t.Context(), registration())
		require.ErrorIs(t, err, registry.ErrNotFound)

		c.Nodes[0].SetFault(nil)
		c.Nodes[0].ForgetRequests()
		time.Sleep(time.Minute)
		require.Empty(t, c.Nodes[0].Requests("", ""))
	})
}

// The earlier registration is kept alive, by beats and by registering it again
// where the server lost it (C-R5).
func TestRegister_AFailedReplacementLeavesTheEarlierOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		heavier, persistent := registration(), registration()
		heavier.Weight = 9
		persistent.Ephemeral = false
		for _, next := range []registry.Registration{heavier, persistent} {
			c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 500}))
			require.Error(t, r.Register(t.Context(), next))
			status, err := r.Status(t.Context(), registration())
			require.NoError(t, err)
			require.Equal(t, registry.StatusUp, status)
			c.Nodes[0].SetFault(nil)
			c.Nodes[0].Wipe()
			time.Sleep(6 * time.Second)
			stored := c.Nodes[0].Instances("public", service)
			require.Len(t, stored, 1)
			require.True(t, stored[0].Ephemeral)
			require.Equal(t, registration().Weight, stored[0].Weight)
			require.NoError(t, r.Beats()[0].LastError)
		}
		require.NoError(t, r.Deregister(t.Context(), registration()))
		require.Empty(t, c.Nodes[0].Instances("public", service))
	})
}

// The registry takes the new kind, but does not let go of the old one.
func TestRegister_TheOtherKindThatStaysIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		c.Nodes[0].SetFault(func(q testutil.Request) *testutil.Fault {
			if q.Method == http.MethodDelete && q.Query.Get("ephemeral") == "true" {
				return &testutil.Fault{Status: 500}
			}
			return nil
		})
		persistent := registration()
		persistent.Ephemeral = false
		require.ErrorContains(t, r.Register(t.Context(), persistent), "take out its other kind")
		require.NotZero(t, r.Beats()[0].Interval)
		deletes := c.Nodes[0].Requests(http.MethodDelete, "/ns/instance")
		require.Equal(t, "false", deletes[len(deletes)-1].Query.Get("ephemeral"), "the new one is taken back")
		c.Nodes[0].SetFault(nil)
		require.NoError(t, r.Register(t.Context(), persistent), "and it can be repeated")
		require.Zero(t, r.Beats()[0].Interval)
	})
}

func TestRegister_ARefusedReplacementChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		bad := registration()
		bad.Weight = -1
		require.Error(t, r.Register(t.Context(), bad))
		time.Sleep(time.Minute)
		requireStored(t, c.Nodes[0], registration())
	})
}

func TestRegister_WaitsForItsTurnOnlyAsLongAsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Delay: 3 * time.Second}))
		first := make(chan error)
		go func() { first <- r.Register(t.Context(), registration()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.Register(ctx, registration()), context.DeadlineExceeded)
		require.NoError(t, <-first)
		require.Len(t, r.Beats(), 1)
	})
}

func TestCR16_BeatTimes(t *testing.T) {
	ms := func(beat, timeout, remove time.Duration) registry.Registration {
		r := registration()
		for key, d := range map[string]time.Duration{
			registry.MetadataBeatInterval: beat, registry.MetadataBeatTimeout: timeout, registry.MetadataDeleteTimeout: remove,
		} {
			if d != 0 {
				r = withMillis(r, key, d)
			}
		}
		return r
	}
	text := registration()
	text.Metadata = map[string]string{registry.MetadataBeatInterval: "5s"}
	persistent := ms(5*time.Millisecond, 0, 0)
	persistent.Ephemeral = false
	tests := []struct {
		name string
		reg  registry.Registration
		bad  string
		// alsoShort says that AllowShortBeat does not cure it.
		alsoShort bool
	}{
		{name: "defaults", reg: registration()},
		{name: "one second", reg: ms(time.Second, 0, 0)},
		{name: "all set", reg: ms(2*time.Second, 6*time.Second, 12*time.Second)},
		{name: "equal", reg: ms(2*time.Second, 2*time.Second, 2*time.Second)},
		{name: "seconds written for milliseconds", reg: ms(5*time.Millisecond, 0, 0), bad: registry.MetadataBeatInterval},
		{name: "below a second", reg: ms(999*time.Millisecond, 0, 0), bad: registry.MetadataBeatInterval},
		{name: "timeout below interval", reg: ms(0, 4*time.Second, 0), bad: registry.MetadataBeatTimeout, alsoShort: true},
		{name: "default timeout below interval", reg: ms(20*time.Second, 0, 0), bad: registry.MetadataBeatTimeout, alsoShort: true},
		{name: "delete below interval", reg: ms(0, 0, 4*time.Second), bad: registry.MetadataDeleteTimeout, alsoShort: true},
		{name: "no number", reg: text, bad: `"5s"`, alsoShort: true},
		{name: "longer than a day", reg: ms(25*time.Hour, 0, 0), bad: registry.MetadataBeatInterval, alsoShort: true},
		{name: "persistent: they mean nothing", reg: persistent},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testutil.NewCluster(t, 1)
				err := newRegistry(t, c, nil).Register(t.Context(), test.reg)
				if test.bad == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, test.bad)
					require.Equal(t, []int{0}, c.Requests())
				}
				short := newRegistry(t, c, func(o *nacos.Options) { o.AllowShortBeat = true })
				err = short.Register(t.Context(), test.reg)
				require.Equal(t, test.alsoShort, err != nil, "%v", err)
			})
		})
	}
}

func TestCR16_ShortBeatsAreSentWhenAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, func(o *nacos.Options) { o.AllowShortBeat = true })
		require.NoError(t, r.Register(t.Context(), withMillis(registration(), registry.MetadataBeatInterval, 200*time.Millisecond)))
		time.Sleep(2100 * time.Millisecond)
		require.Len(t, c.Nodes[0].Beats(), 10)
	})
}

func TestSetStatus_IsAnUpdateOfTheWholeInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		reg := registration()
		reg.Weight, reg.Metadata = 3, map[string]string{"a": "b"}
		require.NoError(t, r.Register(t.Context(), reg))
		// The caller's copy has only what identifies it.
		require.NoError(t, r.SetStatus(t.Context(), registration(), registry.StatusDown))
		reg.Enabled = false
		requireStored(t, c.Nodes[0], reg)
		status, err := r.Status(t.Context(), registration())
		require.NoError(t, err)
		require.Equal(t, registry.StatusDown, status)

		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 400}))
		require.Error(t, r.SetStatus(t.Context(), registration(), registry.StatusUp))
		status, err = r.Status(t.Context(), registration())
		require.NoError(t, err)
		require.Equal(t, registry.StatusDown, status, "not switched, not claimed")
	})
}
