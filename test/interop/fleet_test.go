package interop

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

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
