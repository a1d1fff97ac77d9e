package interop

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// startService runs a web server that says who it is, and returns its port.
func startService(t *testing.T, answer string) int {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(service.Close)
	return service.Listener.Addr().(*net.TCPAddr).Port
}

func TestFleet_AnAppCallsWhatAnotherClientRegisteredAndIsFoundByIt(t *testing.T) {
	forEach(t, func(t *testing.T, who foreign) {
		who.proves(t, "one fleet with rollcall: called by name by an app, finds the app")
		server := testserver.Start(t, binaries.server)
		a := startApp(t, server)
		other := who.start(t, server, account{})
		require.NoError(t, other.register("orders", who.instance(startService(t, "from another"))))

		body, err := a.get("/via/orders")
		require.NoError(t, err)
		require.Equal(t, "from another", body)

		poll.Until(t, registeredWithin, a.registered(server))
		hosts, err := other.choose("greeter")
		require.NoError(t, err)
		require.Equal(t, []int{a.port}, portsOf(hosts))
		require.Equal(t, "1", hosts[0].Metadata["version"])
	})
}

// A call by name must not be answered by an instance that another client took
// out of the registry, however the caller learned of it.
func TestFleet_AnAppSeesWhatAnotherClientTakesAway(t *testing.T) {
	t.Parallel()
	proves(t, ours, "one fleet with nacos-sdk-go: what that client deregisters is no longer called")
	server := testserver.Start(t, binaries.server)
	a := startApp(t, server)
	sdk := newGoSDK(t, server)
	stays, leaves := uint64(startService(t, "stays")), uint64(startService(t, "leaves"))
	registerGoSDK(t, sdk, "orders", stays, nil)
	registerGoSDK(t, sdk, "orders", leaves, nil)
	seen := map[string]bool{}
	call := func() error {
		body, err := a.get("/via/orders")
		seen[body] = true
		return err
	}
	poll.Until(t, pollWithoutPush+slack, func() error {
		if err := call(); err != nil {
			return err
		}
		if !seen["stays"] || !seen["leaves"] {
			return fmt.Errorf("only %v were called", seen)
		}
		return nil
	})

	_, err := deregisterGoSDK(sdk, "orders", leaves)
	require.NoError(t, err)
	poll.Until(t, pollWithPush+slack, func() error {
		clear(seen)
		for range 20 {
			if err := call(); err != nil {
				return err
			}
		}
		if seen["leaves"] {
			return fmt.Errorf("still called: %v", seen)
		}
		return nil
	})
}

// One fleet of apps that nobody told of each other: two releases of Spring Cloud
// Alibaba, Node.js, and two instances of one of ours.
func TestFleet_AppsOfSpringOfNodeAndOfOursCallEachOther(t *testing.T) {
	t.Parallel()
	const (
		callAll = "one fleet of Spring Cloud Alibaba, Node.js and rollcall apps: each calls each of the others by name"
		forget  = "one fleet of Spring Cloud Alibaba, Node.js and rollcall apps: who left by SIGTERM is no longer called"
	)
	for _, claim := range []string{callAll, forget} {
		proves(t, ours, claim)
		proves(t, nodeSDK, claim)
		provesSpring(t, claim, spring2021, spring2021_0)
	}
	provesSpring(t, "register by itself with metadata, weight and cluster; beats past the delete timeout", spring2021, spring2021_0)
	provesSpring(t, "update: takes itself out of service, which beats do not undo, and back", spring2021, spring2021_0)
	provesSpring(t, "SIGTERM: deregistered before the process ends", spring2021, spring2021_0)
	needs(t, needNode())
	server := testserver.Start(t, binaries.server)
	orders, payments := newSpring(t, server, spring2021, "orders"), newSpring(t, server, spring2021_0, "payments")
	stays, leaves := startApp(t, server), startApp(t, server)
	shipping := startNodeApp(t, server, "shipping")
	orders.ready(t, server)
	payments.ready(t, server)
	for _, greeter := range []*app{stays, leaves} {
		poll.Until(t, registeredWithin, greeter.registered(server))
	}

	for _, a := range []*app{orders, payments} {
		host, err := onlyHost(server, a.service)
		require.NoError(t, err)
		require.Equal(t, cluster, host.ClusterName)
		require.InDelta(t, 2.5, host.Weight, 0)
		require.Subset(t, host.Metadata, shortLived("version", "1"))
	}

	answers := map[*app]string{
		orders: "hello from orders", payments: "hello from payments", shipping: "hello from shipping", stays: "hello",
	}
	callsFrom := func(callers ...*app) error {
		for _, caller := range callers {
			for called, answer := range answers {
				if caller != called {
					if err := caller.calls(called, answer)(); err != nil {
						return fmt.Errorf("%s calls %s: %w", caller.service, called.service, err)
					}
				}
			}
		}
		return nil
	}
	require.NoError(t, callsFrom(orders, payments, shipping, stays))
	poll.While(t, lifetime(deleteTimeout), func() error {
		return errors.Join(orders.registered(server)(), payments.registered(server)(), callsFrom(orders))
	})

	for _, a := range []*app{orders, payments} {
		_, err := a.get("/status/DOWN")
		require.NoError(t, err)
		notCalled := func() error {
			for _, caller := range []*app{stays, orders, payments} {
				if caller != a && caller.calls(a, answers[a])() == nil {
					return fmt.Errorf("%s still calls %s", caller.service, a.service)
				}
			}
			return nil
		}
		poll.Until(t, pollWithPush+slack, notCalled)
		poll.While(t, 2*beatInterval, notCalled)
		_, err = a.get("/status/UP")
		require.NoError(t, err)
		poll.Until(t, pollWithPush+slack, func() error { return callsFrom(stays, orders, payments) })
	}

	// One of two instances: nobody calls it in vain for longer than the news takes.
	require.NoError(t, leaves.Terminate(t, time.Minute))
	requireGone(t, server, leaves.service, leaves.port)
	poll.Until(t, slack, func() error {
		for range 10 { // as often as it takes to meet both
			if err := callsFrom(orders, payments, shipping); err != nil {
				return err
			}
		}
		return nil
	})

	// The only instance. The Node.js client ignores that nobody is left, so that it
	// is not asked.
	for _, leaver := range []struct {
		*app
		exit    string
		callers []*app
	}{
		{shipping, "", []*app{orders, payments, stays}},
		// A JVM that is asked to end reports 128 and the signal.
		{payments, "exit status 143", []*app{orders, stays}},
		{orders, "exit status 143", []*app{stays}},
	} {
		err := leaver.Terminate(t, time.Minute)
		if leaver.exit == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, leaver.exit)
		}
		requireGone(t, server, leaver.service, leaver.port)
		for _, caller := range leaver.callers {
			poll.Until(t, slack, func() error {
				if caller.calls(leaver.app, answers[leaver.app])() == nil {
					return fmt.Errorf("%s still got an answer from %s", caller.service, leaver.service)
				}
				return nil
			})
		}
	}
}
