package autoconfigtest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/autoconfig/autoconfigtest"
	"github.com/rollcall-go/rollcall/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func answering(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

// everywhere runs a test over sockets and in virtual time.
func everywhere(t *testing.T, f func(t *testing.T, fleet *autoconfigtest.Fleet)) {
	t.Run("sockets", func(t *testing.T) { f(t, autoconfigtest.NewFleet()) })
	t.Run("virtual", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, autoconfigtest.NewVirtualFleet()) })
	})
}

func TestStart_RegistersCallsByNameAndStops(t *testing.T) {
	everywhere(t, func(t *testing.T, fleet *autoconfigtest.Fleet) {
		users := fleet.Provide(t, "user-service", answering("Ann"))
		app := fleet.Start(t, autoconfig.Property("application.name", "greeter"), fx.Invoke(greeting))
		mine := fleet.Instances("greeter")
		require.Len(t, mine, 1)
		require.Equal(t, "http://"+mine[0].Address(), app.URL)
		require.Equal(t, registry.StateRegistered, app.Registration.State())

		_, body := app.Get(t, "/greeting/1")
		require.Equal(t, "Hello, Ann", body)
		status, _ := app.Get(t, "/actuator/health")
		require.Equal(t, http.StatusOK, status)

		fleet.Remove(t, users)
		status, body = app.Get(t, "/greeting/1")
		require.Equal(t, http.StatusBadGateway, status)
		require.Equal(t, "nobody to ask", body)

		app.Stop(t)
		require.Empty(t, fleet.Instances("greeter"))
		app.Stop(t)
	})
}

// The actuator's own port is as free as the web server's: the application may run
// beside its tests, and several in one.
func TestStart_TheActuatorsServerHasAnAddressOfItsOwn(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	everywhere(t, func(t *testing.T, fleet *autoconfigtest.Fleet) {
		for _, name := range []string{"users", "orders"} {
			app := fleet.Start(t, autoconfig.Property("application.name", name),
				autoconfig.Property("management.server.address", "127.0.0.1"), autoconfig.Property("management.server.port", port))
			status, _ := app.Get(t, "/actuator/health")
			require.Equal(t, http.StatusNotFound, status)
			resp, err := app.Client.Get("http://" + app.ManagementAddr().String() + "/actuator/health")
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusOK, resp.StatusCode)
		}
	})
}

// An application with a file watches it for changes, which would keep the time of
// the bubble from passing.
func TestFleet_TimePassesForAnApplicationWithAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("application.yaml", []byte("application: {name: filed, reload-on-change: true}\n"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		fleet := autoconfigtest.NewVirtualFleet()
		fleet.Start(t)
		require.Len(t, fleet.Instances("filed"), 1)
		passed := make(chan struct{})
		time.AfterFunc(time.Hour, func() { close(passed) })
		<-passed
	})
}

func TestFleet_ApplicationsCallEachOther(t *testing.T) {
	everywhere(t, func(t *testing.T, fleet *autoconfigtest.Fleet) {
		fleet.Provide(t, "user-service", answering("Ann"))
		fleet.Start(t, autoconfig.Property("application.name", "greeter"), fx.Invoke(greeting))
		other := fleet.Start(t)
		require.Len(t, fleet.Instances("app"), 1, "the name of one that has none")
		resp, err := other.ByName.Get("http://greeter/greeting/1")
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "Hello, Ann", string(body))
	})
}

func TestFleet_FaultsOfTheRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := autoconfigtest.NewVirtualFleet()
		fleet.Fail(errors.New("the registry is down"))
		app := fleet.Start(t, autoconfig.Property("cloud.nacos.discovery.fail-fast", false))
		require.Equal(t, registry.StateFailed, app.Registration.State())
		_, err := app.ByName.Get("http://user-service/")
		require.ErrorContains(t, err, "the registry is down")
		status, _ := app.Get(t, "/actuator/health")
		require.Equal(t, http.StatusServiceUnavailable, status)

		fleet.Fail(errors.New("no registering"), autoconfigtest.OpRegister)
		time.Sleep(time.Minute)
		require.Equal(t, registry.StateFailed, app.Registration.State())
		fleet.Heal()
		time.Sleep(time.Minute)
		require.Equal(t, registry.StateRegistered, app.Registration.State())
	})
}

func TestFleet_ASlowRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := autoconfigtest.NewVirtualFleet()
		fleet.SetFault(func(ctx context.Context, op autoconfigtest.Op, _ registry.ServiceID) error {
			if op != autoconfigtest.OpRegister {
				return nil
			}
			select {
			case <-time.After(3 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		began := time.Now()
		fleet.Start(t)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Len(t, fleet.Instances("app"), 1)
	})
}

func TestFleet_TheLastListOutlivesTheRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := autoconfigtest.NewVirtualFleet()
		users := fleet.Provide(t, "user-service", answering("Ann"))
		app := fleet.Start(t, fx.Invoke(greeting))
		_, body := app.Get(t, "/greeting/1")
		require.Equal(t, "Hello, Ann", body)
		fleet.Fail(errors.New("down"), autoconfigtest.OpFetch)
		fleet.Remove(t, users) // nobody hears of it
		time.Sleep(10 * time.Minute)
		_, body = app.Get(t, "/greeting/1")
		require.Equal(t, "Hello, Ann", body)
		fleet.Heal()
		time.Sleep(2 * time.Minute)
		status, _ := app.Get(t, "/greeting/1")
		require.Equal(t, http.StatusBadGateway, status)
	})
}
