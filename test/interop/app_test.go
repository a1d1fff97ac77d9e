package interop

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/internal/process"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// ours is this project's client, which speaks for itself in a process of its own.
var ours = client{name: "rollcall's own", version: "this tree"}

// registeredWithin is how long an app may take from its start to its place in
// the registry, on a machine that is busy with other tests.
const registeredWithin = time.Minute

// app is a process with a web server that answers /hello, calls the /hello of
// another service for /via/<service>, and registers itself.
type app struct {
	*process.Process
	service string
	port    int
}

// startApp runs test/cmd/app as "greeter" with short timeouts against the server,
// which need not be there yet. It returns when the app's web server answers.
func startApp(t *testing.T, server *testserver.Server) *app {
	t.Helper()
	a := &app{service: "greeter", port: testserver.FreePort(t)}
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, "application.yaml"), fmt.Appendf(nil, `
application:
  name: greeter
server:
  address: 127.0.0.1
  port: %d
cloud:
  nacos:
    server-addr: %s
    discovery:
      ip: 127.0.0.1
      metadata: {version: "1"}
      heart-beat-interval: %v
      heart-beat-timeout: %v
      ip-delete-timeout: %v
      fail-fast: false
      register-retry: {initial: 200ms, max: 1s}
`, a.port, server.Addr(), beatInterval, beatTimeout, deleteTimeout), 0o600)
	require.NoError(t, err)

	cmd := exec.Command(binaries.app)
	cmd.Dir = dir
	a.Process = process.Start(t, "app on port "+strconv.Itoa(a.port), cmd)
	poll.Until(t, registeredWithin, a.answers)
	return a
}

// answers is nil when the app's web server does.
func (a *app) answers() error {
	select {
	case <-a.Exited():
		return errors.New("the app has ended")
	default:
		_, err := a.get("/hello")
		return err
	}
}

// calls is nil when the app, asked to call the other by name, got its answer.
func (a *app) calls(other *app, answer string) func() error {
	return func() error {
		body, err := a.get("/via/" + other.service)
		if err == nil && body != answer {
			err = fmt.Errorf("answered %q", body)
		}
		return err
	}
}

// get asks the app itself.
func (a *app) get(path string) (string, error) {
	client := http.Client{Timeout: slack}
	response, err := client.Get("http://127.0.0.1:" + strconv.Itoa(a.port) + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: status %d: %s", path, response.StatusCode, body)
	}
	return string(body), nil
}

// registered is nil when the service has a healthy instance on the app's port.
func (a *app) registered(server *testserver.Server) func() error {
	return func() error {
		hosts, err := server.Hosts(a.service)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(hosts, func(h testserver.Host) bool { return h.Port == a.port })
		if i < 0 || !hosts[i].Healthy {
			return fmt.Errorf("no healthy instance on port %d: %+v", a.port, hosts)
		}
		return nil
	}
}

func TestApp_RegistersWhatItsConfigurationSays(t *testing.T) {
	t.Parallel()
	proves(t, ours, "register by itself with address, port, metadata and timeouts; beats past the delete timeout")
	server := testserver.Start(t, binaries.server)
	a := startApp(t, server)

	poll.Until(t, registeredWithin, a.registered(server))
	host, err := onlyHost(server, "greeter")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", host.IP)
	require.True(t, host.Enabled)
	for key, value := range shortLived("version", "1") {
		require.Equal(t, value, host.Metadata[key], key)
	}
	poll.While(t, lifetime(deleteTimeout), a.registered(server))
}

func TestApp_IsGoneAtOnceAfterSIGTERM(t *testing.T) {
	t.Parallel()
	proves(t, ours, "SIGTERM: deregistered before the process ends, with exit status 0")
	server := testserver.Start(t, binaries.server)
	a := startApp(t, server)
	poll.Until(t, registeredWithin, a.registered(server))

	require.NoError(t, a.Terminate(t, time.Minute))
	requireGone(t, server, "greeter", a.port)
}

func TestApp_IsUnhealthyThenGoneByItsOwnTimeoutsAfterKill(t *testing.T) {
	t.Parallel()
	proves(t, ours, "kill -9: unhealthy, then gone, by its own timeouts")
	server := testserver.Start(t, binaries.server)
	// The second one keeps the list from being protected, in which every
	// instance shows as healthy.
	victim, survivor := startApp(t, server), startApp(t, server)
	poll.Until(t, registeredWithin, victim.registered(server))
	poll.Until(t, registeredWithin, survivor.registered(server))

	late := beatTimeout / 2 // its last beat may be as old as that when it is killed
	victim.Kill()
	killed := time.Now()
	poll.Until(t, beatTimeout+slack, unhealthy(server, "greeter", victim.port))
	require.GreaterOrEqual(t, time.Since(killed), beatTimeout-late, "not before its time")
	poll.Until(t, deleteTimeout-time.Since(killed)+slack, gone(server, "greeter", victim.port))
	require.GreaterOrEqual(t, time.Since(killed), deleteTimeout-late, "not before its time")
	require.NoError(t, survivor.registered(server)())
}

func TestApp_RegistersAgainAfterItWasStoppedAndContinued(t *testing.T) {
	t.Parallel()
	proves(t, ours, "SIGSTOP until removed, SIGCONT: registered again with all it carries")
	server := testserver.Start(t, binaries.server)
	a := startApp(t, server)
	poll.Until(t, registeredWithin, a.registered(server))
	before, err := onlyHost(server, "greeter")
	require.NoError(t, err)

	a.Pause()
	poll.Until(t, deleteTimeout+slack, gone(server, "greeter", a.port))
	a.Continue()
	took := poll.Until(t, beatInterval+slack, a.registered(server))
	t.Logf("back after %v", took)
	after, err := onlyHost(server, "greeter")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestApp_RegistersWhenTheRegistryComesLater(t *testing.T) {
	t.Parallel()
	proves(t, ours, "registry away at start (fail-fast: false): serves, and registers when the registry is there")
	server := testserver.New(t, binaries.server)
	a := startApp(t, server)
	poll.While(t, 2*time.Second, func() error {
		_, err := a.get("/hello")
		return err
	})

	server.Start(t)
	took := poll.Until(t, time.Second+slack, a.registered(server))
	t.Logf("registered after %v", took)
}

func TestApp_IsBackWithinOneBeatAfterTheServerLostItsMemory(t *testing.T) {
	t.Parallel()
	proves(t, ours, "server killed and replaced by one that knows nobody: back within one beat with all it carries")
	server := testserver.Start(t, binaries.server)
	a := startApp(t, server)
	poll.Until(t, registeredWithin, a.registered(server))
	before, err := onlyHost(server, "greeter")
	require.NoError(t, err)

	server.Replace(t)
	took := poll.Until(t, beatInterval+slack, a.registered(server))
	t.Logf("back after %v", took)
	after, err := onlyHost(server, "greeter")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestApp_IsCalledByNameAndNeverAfterItHasLeft(t *testing.T) {
	t.Parallel()
	proves(t, ours, "call another instance by service name; none fails when one leaves by SIGTERM")
	server := testserver.Start(t, binaries.server)
	caller, leaver := startApp(t, server), startApp(t, server)
	poll.Until(t, registeredWithin, caller.registered(server))
	poll.Until(t, registeredWithin, leaver.registered(server))

	call := caller.calls(leaver, "hello")
	poll.While(t, time.Second, call)
	require.NoError(t, leaver.Terminate(t, time.Minute))
	poll.While(t, 2*time.Second, call)
}
