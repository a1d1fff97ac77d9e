package projection_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/probe"
	"github.com/rollcall-go/rollcall/server/projection"
	"github.com/rollcall-go/rollcall/server/state"
)

// fakeProber remembers its targets.
type fakeProber struct {
	mu      sync.Mutex
	sets    int
	targets map[string][]probe.Target
	checker probe.Checker
	port    int
	refuse  bool
	result  func(probe.Result) error
}

func (p *fakeProber) Set(key probe.Cluster, checker probe.Checker, port int, targets []probe.Target) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		return errors.New("no")
	}
	p.sets++
	p.targets[key.Name], p.checker, p.port = targets, checker, port
	return nil
}

func (p *fakeProber) Remove(key probe.Cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.targets, key.Name)
}

func (p *fakeProber) OnResult(f func(probe.Result) error) { p.result = f }

func TestProbes_FollowTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.apply(&state.RegisterInstance{Instance: instance(1)}) // before
		prober := &fakeProber{targets: map[string][]probe.Target{}}
		probes := projection.NewProbes(w.store, prober, nil)
		defer func() { require.NoError(t, probes.Close()) }()
		settle := func() { time.Sleep(time.Second); synctest.Wait() }
		settle()
		require.Equal(t, []probe.Target{{IP: "192.0.2.1", Port: 1, Healthy: true}}, prober.targets["DEFAULT"])
		require.Equal(t, probe.Checker{Type: probe.TCP}, prober.checker)
		require.Zero(t, prober.port, "its own")

		prober.sets = 0
		for port := range 1000 {
			w.apply(&state.RegisterInstance{Instance: instance(port + 2)})
		}
		settle()
		require.Len(t, prober.targets["DEFAULT"], 1001)
		require.LessOrEqual(t, prober.sets, 3, "a burst is one new list")

		w.apply(&state.PutCluster{Cluster: state.Cluster{
			Service: orders, Name: "DEFAULT", HealthChecker: []byte(`{"type":"HTTP","path":"/ok"}`), CheckPort: 9,
		}})
		settle()
		require.Equal(t, "/ok", prober.checker.Path)
		require.Equal(t, 9, prober.port)

		key := probe.Cluster{Service: orders, Name: "DEFAULT"}
		require.NoError(t, prober.result(probe.Result{Cluster: key, IP: "192.0.2.1", Port: 1}))
		i, found := w.revision(orders).Get(naming.InstanceKey{Cluster: "DEFAULT", IP: "192.0.2.1", Port: 1})
		require.True(t, found)
		require.False(t, i.Healthy, "a finding is the instance's health")
		settle()
		require.False(t, prober.targets["DEFAULT"][0].Healthy)

		prober.refuse = true
		w.apply(&state.DeregisterInstance{Service: orders, InstanceKey: instance(2).InstanceKey})
		settle()
		require.Empty(t, prober.targets, "a checker that cannot be used checks nothing")
		prober.refuse = false
		w.apply(&state.DeregisterInstance{Service: orders, InstanceKey: instance(3).InstanceKey})
		settle()
		require.Len(t, prober.targets["DEFAULT"], 999)

		w.apply(&state.DeleteService{Service: orders})
		settle()
		require.Empty(t, prober.targets)
		require.NoError(t, prober.result(probe.Result{Cluster: key, IP: "192.0.2.1", Port: 1}), "late")
	})
}

func TestProbes_InstancesThatBeatAreNoneOfTheirBusiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		prober := &fakeProber{targets: map[string][]probe.Target{}}
		probes := projection.NewProbes(w.store, prober, nil)
		require.NoError(t, w.store.Register(orders, naming.Registration{
			InstanceKey: naming.InstanceKey{IP: "192.0.2.9", Port: 80}, Weight: 1, Enabled: true, Healthy: true,
		}))
		time.Sleep(time.Second)
		require.Zero(t, prober.sets)
		require.NoError(t, probes.Close())
		require.NoError(t, probes.Close())
	})
}

func TestProbeParams_AreTheSwitches(t *testing.T) {
	switches := naming.NewSwitches()
	params := projection.ProbeParams(switches)
	want := probe.DefaultParams()
	got := params()
	got.Exempt = nil
	require.Equal(t, want, got, "Nacos' defaults in both places")
	require.NoError(t, switches.Apply("check", "false"))
	require.NoError(t, switches.Apply("healthCheckTimes", "5"))
	require.NoError(t, switches.Apply("batch", `{"healthCheckWhiteList":["DEFAULT_GROUP@@s"],"tcpHealthParams":{"max":6000,"min":700,"factor":0.5}}`))
	got = params()
	require.False(t, got.Enabled)
	require.Equal(t, 5, got.CheckTimes)
	require.Equal(t, []string{"DEFAULT_GROUP@@s"}, got.Exempt)
	require.Equal(t, probe.Interval{Max: 6 * time.Second, Min: 700 * time.Millisecond, Factor: 0.5}, got.TCP)
}
