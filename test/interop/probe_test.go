package interop

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// firstProbe is how long the first probe of a cluster may take to come.
const firstProbe = 7 * time.Second

// probedWithin is how long a change may take until the server has noticed it:
// three probes, and what a busy machine adds to their interval.
const probedWithin = 3*(3*time.Second) + slack

// listen accepts connections on the port of 127.0.0.1 until the returned function
// is called or the test ends.
func listen(t *testing.T, port int) (stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	require.NoError(t, err)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	stop = func() {
		listener.Close()
		<-stopped
	}
	t.Cleanup(stop)
	return stop
}

// registerPersistent registers 127.0.0.1 with the port, as well as given.
func registerPersistent(t *testing.T, server *testserver.Server, service, cluster string, port int, healthy bool) {
	t.Helper()
	_, err := server.Call(http.MethodPost, "/v1/ns/instance", url.Values{
		"serviceName": {service}, "ip": {"127.0.0.1"}, "port": {strconv.Itoa(port)}, "clusterName": {cluster},
		"ephemeral": {"false"}, "healthy": {strconv.FormatBool(healthy)},
	})
	require.NoError(t, err)
}

// setChecker says how the instances of a cluster are probed.
func setChecker(t *testing.T, server *testserver.Server, service, cluster string, checker map[string]any) {
	t.Helper()
	text, err := json.Marshal(checker)
	require.NoError(t, err)
	_, err = server.Call(http.MethodPut, "/v1/ns/cluster", url.Values{
		"serviceName": {service}, "clusterName": {cluster}, "checkPort": {"80"}, "useInstancePort4Check": {"true"},
		"healthChecker": {string(text)},
	})
	require.NoError(t, err)
}

// quickProbes has the server probe as often as the switches allow.
func quickProbes(t *testing.T, server *testserver.Server) {
	t.Helper()
	text, err := server.Call(http.MethodGet, "/v1/ns/operator/switches", nil)
	require.NoError(t, err)
	var switches map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &switches))
	for _, kind := range []string{"tcpHealthParams", "httpHealthParams", "mysqlHealthParams"} {
		switches[kind] = map[string]any{"max": 3000, "min": 500, "factor": 0.0}
	}
	changed, err := json.Marshal(switches)
	require.NoError(t, err)
	server.Switch(t, "batch", string(changed))
}

// reported is nil when the service has an instance on the port that is reported
// as healthy, or as not.
func reported(server *testserver.Server, service string, port int, healthy bool) func() error {
	return func() error {
		hosts, err := server.Hosts(service)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(hosts, func(h testserver.Host) bool { return h.Port == port })
		if i < 0 || hosts[i].Healthy != healthy {
			return fmt.Errorf("no instance on port %d with healthy=%v: %+v", port, healthy, hosts)
		}
		return nil
	}
}

func TestProbe_TCP(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, binaries.server)
	quickProbes(t, server)
	registerSurvivor(t, server, "db")
	port := testserver.FreePort(t)
	stop := listen(t, port)
	// It is said to be ill: only a probe can know better.
	registerPersistent(t, server, "db", "DEFAULT", port, false)
	subscriber := server.Subscribe(t, "db")
	poll.Until(t, firstProbe+probedWithin, reported(server, "db", port, true))

	before, err := subscriber.Pushed()
	require.NoError(t, err)
	stop()
	took := poll.Until(t, probedWithin, reported(server, "db", port, false))
	t.Logf("ill after %v", took)
	poll.Until(t, slack, func() error {
		lists, err := subscriber.Pushed()
		if err != nil {
			return err
		}
		for _, list := range lists[len(before):] {
			if slices.ContainsFunc(list, func(h testserver.Host) bool { return h.Port == port && !h.Healthy }) {
				return nil
			}
		}
		return fmt.Errorf("not pushed as ill: %+v", lists)
	})

	listen(t, port)
	took = poll.Until(t, probedWithin, reported(server, "db", port, true))
	t.Logf("well after %v", took)
}

func TestProbe_HTTP(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, binaries.server)
	quickProbes(t, server)
	var status atomic.Int32
	status.Store(http.StatusNoContent)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.RequestURI() != "/up?deep=1" || r.Header.Get("X-Probe") != "yes" ||
			r.Header.Get("X-Team") != "a" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(target.Close)
	port := target.Listener.Addr().(*net.TCPAddr).Port
	registerSurvivor(t, server, "web")
	registerPersistent(t, server, "web", "HTTP", port, false)
	setChecker(t, server, "web", "HTTP", map[string]any{
		"type": "HTTP", "path": "/up?deep=1", "headers": "X-Probe:yes|X-Team:a", "expectedResponseCode": http.StatusNoContent,
	})
	poll.Until(t, firstProbe+probedWithin, reported(server, "web", port, true))

	for _, bad := range []int32{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusOK} {
		status.Store(bad)
		took := poll.Until(t, probedWithin, reported(server, "web", port, false))
		t.Logf("ill by %d after %v", bad, took)
		status.Store(http.StatusNoContent)
		poll.Until(t, probedWithin, reported(server, "web", port, true))
	}
}

func TestProbe_MySQLAgainstMariaDB(t *testing.T) {
	t.Parallel()
	proves(t, maria, "probed by logging in and a command: unhealthy when read only, when it refuses the password, "+
		"when it hangs and when it is dead, and healthy again after each")
	needs(t, needMariaDB())
	db := newMariaDB(t)
	db.start(t)
	server := testserver.Start(t, binaries.server)
	quickProbes(t, server)
	registerSurvivor(t, server, "db")
	registerPersistent(t, server, "db", "MARIA", db.port, false)
	checker := map[string]any{
		"type": "MYSQL", "user": mariaUser, "pwd": mariaPassword,
		"cmd": "show global variables where variable_name='read_only'",
	}
	setChecker(t, server, "db", "MARIA", checker)
	well, ill := reported(server, "db", db.port, true), reported(server, "db", db.port, false)
	poll.Until(t, firstProbe+probedWithin, well)

	for _, fault := range []struct {
		name        string
		cause, mend func()
	}{
		{"is read only", func() { db.run(t, "SET GLOBAL read_only=ON") }, func() { db.run(t, "SET GLOBAL read_only=OFF") }},
		{"refuses the password", func() {
			wrong := map[string]any{"type": "MYSQL", "user": mariaUser, "pwd": "a wrong password", "cmd": "select 1"}
			setChecker(t, server, "db", "MARIA", wrong)
		}, func() { setChecker(t, server, "db", "MARIA", checker) }},
		{"hangs", db.Pause, db.Continue},
		{"is dead", db.Kill, func() { db.start(t) }},
	} {
		fault.cause()
		took := poll.Until(t, probedWithin, ill)
		t.Logf("ill after %v when it %s", took, fault.name)
		fault.mend()
		took = poll.Until(t, probedWithin, well)
		t.Logf("well %v after that", took)
	}
}

// registerSurvivor registers an instance that stays healthy, unprobed, which
// keeps the list from being protected: that would show all as healthy.
func registerSurvivor(t *testing.T, server *testserver.Server, service string) {
	t.Helper()
	registerPersistent(t, server, service, "UNPROBED", 1, true)
	setChecker(t, server, service, "UNPROBED", map[string]any{"type": "NONE"})
}

func TestForeign_RegistersAPersistentInstance(t *testing.T) {
	forEach(t, func(t *testing.T, who foreign) {
		who.proves(t, "register a persistent instance: kept over kill -9 of the server, ill when its port is closed, never removed; deregister")
		server := testserver.Start(t, binaries.server)
		quickProbes(t, server)
		registerSurvivor(t, server, "db")
		naming := who.start(t, server, account{})
		port := testserver.FreePort(t)
		stop := listen(t, port)
		i := who.instance(port)
		i.Ephemeral = false
		require.NoError(t, naming.register("db", i))

		server.Kill()
		server.Start(t)
		require.NoError(t, reported(server, "db", port, true)(), "what was acknowledged is there")
		stop()
		poll.Until(t, firstProbe+probedWithin, reported(server, "db", port, false))
		_, removed := who.timeouts()
		poll.While(t, removed, reported(server, "db", port, false))
		hosts, err := naming.list("db")
		require.NoError(t, err)
		require.Equal(t, []int{1, port}, portsOf(hosts))
		for _, host := range hosts {
			require.False(t, host.Ephemeral)
		}

		require.NoError(t, naming.deregister("db", i))
		requireGone(t, server, "db", port)
	})
}
