package interop

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/testserver"
)

func TestForeign_RegistersListsUpdatesAndDeregisters(t *testing.T) {
	forEach(t, func(t *testing.T, who foreign) {
		who.proves(t, "register with metadata, weight and cluster", "list all and healthy instances",
			"deregister: gone with the answer and not beaten back")
		if who.updates {
			who.proves(t, "update weight and metadata; beats do not undo it")
		}
		server := testserver.Start(t, binaries.server)
		naming := who.start(t, server, account{})
		i := who.instance(8001)
		require.NoError(t, naming.register("orders", i))

		registered, err := onlyHost(server, "orders")
		require.NoError(t, err, "visible as soon as the call is answered")
		require.Equal(t, testserver.Host{
			InstanceID: "127.0.0.1#8001#EAST#DEFAULT_GROUP@@orders", IP: "127.0.0.1", Port: 8001, ClusterName: cluster,
			Weight: 2.5, Healthy: true, Enabled: true, Ephemeral: true, Metadata: i.Metadata,
		}, registered)

		for what, find := range map[string]func(string) ([]testserver.Host, error){
			"list": naming.list, "choose": naming.choose,
		} {
			hosts, err := find("orders")
			require.NoError(t, err, what)
			require.Equal(t, []testserver.Host{registered}, hosts, what)
		}

		if who.updates {
			requireUpdates(t, server, naming, i, registered)
		}

		require.NoError(t, naming.deregister("orders", i))
		requireGone(t, server, "orders", i.Port)
		poll.While(t, 2*beatInterval, gone(server, "orders", i.Port))
	})
}

// requireUpdates changes the registered instance through the client.
func requireUpdates(t *testing.T, server *testserver.Server, naming naming, i instance, registered testserver.Host) {
	t.Helper()
	i.Weight, i.Metadata["version"] = 7, "2"
	require.NoError(t, naming.update("orders", i))
	registered.Weight, registered.Metadata = i.Weight, i.Metadata
	poll.While(t, 2*beatInterval+longer, func() error {
		host, err := onlyHost(server, "orders")
		if err == nil && fmt.Sprint(host) != fmt.Sprint(registered) {
			err = fmt.Errorf("not as updated: %+v", host)
		}
		return err
	})
}

func TestForeign_SubscriberIsToldOfChanges(t *testing.T) {
	forEach(t, func(t *testing.T, who foreign) {
		how := "by UDP push"
		if !who.pushed {
			how = "by its own polls"
		}
		who.proves(t, "subscribe: told "+how+" of what is added, changed and removed")
		if who.empty {
			who.proves(t, "subscribe: told "+how+" that nobody is left")
		}
		server := testserver.Start(t, binaries.server, testserver.MetricsOn)
		naming := who.start(t, server, account{})
		one, two := who.instance(8001), who.instance(8002)
		require.NoError(t, naming.register("orders", one))

		require.NoError(t, naming.subscribe("orders"))
		next(t, naming, toldWithin, one.Port)
		require.NoError(t, naming.register("orders", two))
		next(t, naming, toldWithin, one.Port, two.Port)
		changeByOperator(t, server, "orders", two, 9)
		nextWeight(t, naming, toldWithin, two.Port, 9)
		require.NoError(t, naming.deregister("orders", one))
		next(t, naming, toldWithin, two.Port)
		if who.empty {
			require.NoError(t, naming.deregister("orders", two))
			next(t, naming, toldWithin)
		}
		if who.pushed { // and acknowledged them, though a poll may have brought one before
			poll.Until(t, slack, func() error {
				all, err := server.Metrics()
				if acknowledged := all[`rollcall_push_datagrams_total{outcome="acked"}`]; err == nil && acknowledged < 2 {
					err = fmt.Errorf("%v pushes were acknowledged", acknowledged)
				}
				return err
			})
		}
	})
}

func TestForeign_StaysRegisteredWhateverHappensToTheServer(t *testing.T) {
	forEach(t, func(t *testing.T, who foreign) {
		who.proves(t, "beats past the delete timeout", "server restarted over its data: nobody is missing",
			"server killed and replaced by one that knows nobody: back with the next beat and all it carries")
		server := testserver.Start(t, binaries.server)
		naming := who.start(t, server, account{})
		_, removed := who.timeouts()
		require.NoError(t, naming.register("orders", who.instance(8001)))
		registered, err := onlyHost(server, "orders")
		require.NoError(t, err)
		poll.While(t, lifetime(removed), healthy(server, "orders"))

		server.Restart(t)
		host, err := onlyHost(server, "orders")
		require.NoError(t, err, "there as soon as the server is")
		require.Equal(t, registered, host)
		poll.While(t, lifetime(removed), healthy(server, "orders"))

		server.Replace(t)
		took := poll.Until(t, who.back(), healthy(server, "orders"))
		t.Logf("back after %v", took)
		host, err = onlyHost(server, "orders")
		require.NoError(t, err)
		require.Equal(t, registered, host)
	})
}

func TestForeign_IsNotEvictedByAServerThatWasStopped(t *testing.T) {
	forEach(t, func(t *testing.T, who foreign) {
		who.proves(t, "server frozen for longer than the delete timeout and back: nobody is evicted")
		server := testserver.Start(t, binaries.server)
		naming := who.start(t, server, account{})
		_, removed := who.timeouts()
		require.NoError(t, naming.register("orders", who.instance(8001)))
		// Until it has beaten for the first time: what never beats is not kept.
		poll.While(t, who.firstBeat+2*beatInterval, healthy(server, "orders"))
		onlooker := server.Subscribe(t, "orders")

		server.Pause()
		<-time.After(freeze(removed)) // the pause itself
		server.Continue()
		there := func() error {
			_, err := onlyHost(server, "orders")
			return err
		}
		poll.While(t, who.retry+beatInterval+longer, there)
		poll.While(t, removed, healthy(server, "orders"))
		lists, err := onlooker.Pushed()
		require.NoError(t, err)
		for _, list := range lists {
			require.NotEmpty(t, list, "an empty list was pushed")
		}
	})
}

func TestForeign_LogsIn(t *testing.T) {
	forEach(t, func(t *testing.T, who foreign) {
		who.proves(t, "authentication on: the right password registers, beats, lists, subscribes and deregisters",
			"authentication on: a wrong password and none register nothing")
		server := testserver.Start(t, binaries.server, testserver.AuthOn)
		server.Login(t)
		server.CreateUser(t, "fleet", "a right password", ":*:*")

		i := who.instance(8001)
		for _, a := range []account{{}, {"fleet", "a wrong password"}, {"nobody", "a right password"}} {
			require.Error(t, who.start(t, server, a).register("orders", i), "%+v", a)
		}
		hosts, err := server.Hosts("orders")
		require.NoError(t, err)
		require.Empty(t, hosts)

		naming := who.start(t, server, account{"fleet", "a right password"})
		require.NoError(t, naming.register("orders", i))
		hosts, err = naming.list("orders")
		require.NoError(t, err)
		require.Equal(t, []int{i.Port}, portsOf(hosts))
		require.NoError(t, naming.subscribe("orders"))
		next(t, naming, toldWithin, i.Port)
		_, removed := who.timeouts()
		poll.While(t, lifetime(removed), healthy(server, "orders"))
		require.NoError(t, naming.deregister("orders", i))
		requireGone(t, server, "orders", i.Port)
	})
}

// nextWeight waits for a list that shows an instance with this weight.
func nextWeight(t *testing.T, from naming, within time.Duration, port int, weight float64) {
	t.Helper()
	deadline := time.After(within)
	last := errors.New("there was none")
	for {
		select {
		case hosts := <-from.changes():
			for _, host := range hosts {
				if host.Port == port && host.Weight == weight {
					return
				}
			}
			last = fmt.Errorf("the last was %+v", hosts)
		case <-deadline:
			t.Fatalf("no list with weight %v for port %d within %v: %v", weight, port, within, last)
		}
	}
}
