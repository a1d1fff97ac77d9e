package rnacos

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	discoverynacos "github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
	"github.com/rollcall-go/rollcall/test/internal/poll"
)

// suite is what docs/peers.md calls the tests of this file and the next.
const suite = "the life of an app"

var orders = registry.ServiceID{Name: "orders"}.Normalize()

// registration returns one with all that an app may set.
func registration(port int) registry.Registration {
	r := registry.Registration{Instance: registry.NewInstance(orders, "127.0.0.1", port)}
	r.Weight, r.Metadata = 2.5, map[string]string{"color": "blue", "gRPC_port": "9090"}
	return r
}

// lists returns nil when exactly the given instances are listed, healthy and with
// all they carry.
func lists(t *testing.T, s discovery.Source, want ...registry.Registration) error {
	t.Helper()
	got := listed(t, s, orders)
	if len(got) != len(want) {
		return fmt.Errorf("want %d instances: %+v", len(want), got)
	}
	for _, w := range want {
		if err := has(got, w.Instance); err != nil {
			return err
		}
	}
	return nil
}

func has(list []registry.Instance, want registry.Instance) error {
	for _, i := range list {
		if i.Key() != want.Key() {
			continue
		}
		if i.Weight == want.Weight && i.Healthy && fmt.Sprint(i.Metadata) == fmt.Sprint(want.Metadata) {
			return nil
		}
		return fmt.Errorf("want %+v: %+v", want, i)
	}
	return fmt.Errorf("%s is not listed: %+v", want.Address(), list)
}

func TestBeats_KeepAnInstanceAndItsStatus(t *testing.T) {
	t.Parallel()
	proves(t, suite, "beats: healthy past the server's delete timeout, a status DOWN stays, silent and gone after Close")
	const remove = 20 * time.Second
	p := startPeer(t, timeouts(17*time.Second, remove)...) // three beats in a row may be late
	r, s := p.newRegistry(t, nacos.Options{}), p.newSource(t, discoverynacos.Options{})
	up, down := registration(8080), registration(8081)
	require.NoError(t, r.Register(t.Context(), up))
	require.NoError(t, r.Register(t.Context(), down))
	require.NoError(t, r.SetStatus(t.Context(), down, registry.StatusDown))

	poll.While(t, remove+5*time.Second, func() error { return lists(t, s, up) })
	beats := r.Beats()
	require.Len(t, beats, 2)
	for _, b := range beats {
		require.NoError(t, b.LastError)
		require.Equal(t, 5*time.Second, b.Interval)
	}
	require.NoError(t, r.SetStatus(t.Context(), down, registry.StatusUp))
	require.NoError(t, lists(t, s, up, down))

	require.NoError(t, r.Close())
	poll.Until(t, remove+within, func() error { return lists(t, s) })
}

func TestWatch_AdoptsWhatAnOperatorChanges(t *testing.T) {
	t.Parallel()
	proves(t, suite, "watch: weight and metadata that an operator set are adopted, and survive a change of status (client case 25)")
	p := startPeer(t)
	r := p.newRegistry(t, nacos.Options{Watch: nacos.Watch{Enabled: true, Interval: 200 * time.Millisecond}})
	s := p.newSource(t, discoverynacos.Options{})
	adopted := make(chan registry.Registration, 10)
	r.Watch(func(changed registry.Registration) { adopted <- changed })
	reg := registration(8080)
	require.NoError(t, r.Register(t.Context(), reg))

	edited := reg
	edited.Weight, edited.Metadata = 5, map[string]string{"color": "green"}
	metadata, err := json.Marshal(edited.Metadata)
	require.NoError(t, err)
	params := instanceParams(edited.Instance)
	params.Set("weight", "5")
	params.Set("metadata", string(metadata))
	_, err = p.call(http.MethodPut, "/v1/ns/instance", params)
	require.NoError(t, err)
	select {
	case got := <-adopted:
		require.Equal(t, edited.Weight, got.Weight)
		require.Equal(t, edited.Metadata, got.Metadata)
	case <-time.After(within):
		t.Fatal("the change is not adopted")
	}

	require.NoError(t, r.SetStatus(t.Context(), reg, registry.StatusDown))
	require.NoError(t, lists(t, s))
	require.NoError(t, r.SetStatus(t.Context(), reg, registry.StatusUp))
	require.NoError(t, lists(t, s, edited))
}

func TestSubscribe_TellsChanges(t *testing.T) {
	t.Parallel()
	proves(t, suite, "subscribe: an instance that comes, is updated, is down and leaves is told to a caller, by asking")
	p := startPeer(t)
	r := p.newRegistry(t, nacos.Options{})
	client, err := discovery.New(discovery.Options{
		Sources: []discovery.Source{p.newSource(t, discoverynacos.Options{})}, RefreshInterval: 200 * time.Millisecond,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	snapshots := make(chan *discovery.Snapshot, 100)
	subscription, err := client.Subscribe(orders, func(s *discovery.Snapshot) { snapshots <- s })
	require.NoError(t, err)
	defer subscription.Close()
	told := func(what string, ok func([]registry.Instance) bool) {
		t.Helper()
		for deadline := time.After(within); ; {
			select {
			case s := <-snapshots:
				if ok(s.Instances) {
					return
				}
			case <-deadline:
				t.Fatalf("not told of %s", what)
			}
		}
	}

	reg := registration(8080)
	require.NoError(t, r.Register(t.Context(), reg))
	told("the instance", func(l []registry.Instance) bool { return has(l, reg.Instance) == nil })
	reg.Weight, reg.Metadata = 7, map[string]string{"color": "red"}
	require.NoError(t, r.Update(t.Context(), reg))
	told("its update", func(l []registry.Instance) bool { return has(l, reg.Instance) == nil })
	require.NoError(t, r.SetStatus(t.Context(), reg, registry.StatusDown))
	told("its status", func(l []registry.Instance) bool { return len(l) == 0 })
	require.NoError(t, r.SetStatus(t.Context(), reg, registry.StatusUp))
	told("its return", func(l []registry.Instance) bool { return has(l, reg.Instance) == nil })
	require.NoError(t, r.Deregister(t.Context(), reg))
	told("its end", func(l []registry.Instance) bool { return len(l) == 0 })
}

func TestRestart_AnInstanceIsBackWithItsNextBeat(t *testing.T) {
	t.Parallel()
	proves(t, suite, "server killed and started with an empty memory: the instance is back with its next beat")
	p := startPeer(t)
	r, s := p.newRegistry(t, nacos.Options{}), p.newSource(t, discoverynacos.Options{})
	reg := registration(8080)
	require.NoError(t, r.Register(t.Context(), reg))
	p.kill()
	_, err := s.Fetch(t.Context(), orders)
	require.Error(t, err, "not an empty list")
	p.start(t)
	poll.Until(t, within, func() error {
		for _, i := range listed(t, s, orders) {
			if i.Key() == reg.Key() && i.Healthy {
				return nil
			}
		}
		return errors.New("it is not back")
	})
	require.NoError(t, r.Register(t.Context(), reg))
	require.NoError(t, lists(t, s, reg), "with all it carries once it is registered anew")
}

func TestPersistent_StaysWithoutBeats(t *testing.T) {
	t.Parallel()
	proves(t, suite, "a persistent instance outlives the delete timeout without beats, and is deregistered as what it is (client case 23)")
	const remove = 4 * time.Second
	p := startPeer(t, timeouts(3*time.Second, remove)...)
	r, s := p.newRegistry(t, nacos.Options{}), p.newSource(t, discoverynacos.Options{})
	reg := registration(8080)
	reg.Ephemeral = false
	require.NoError(t, r.Register(t.Context(), reg))
	require.Zero(t, r.Beats()[0].Interval)
	poll.While(t, 3*remove, func() error {
		if err := lists(t, s, reg); err != nil {
			return err
		}
		if listed(t, s, orders)[0].Ephemeral {
			return errors.New("it is listed as ephemeral")
		}
		return nil
	})
	require.NoError(t, r.Deregister(t.Context(), reg))
	require.NoError(t, lists(t, s))
}
