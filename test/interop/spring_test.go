package interop

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/internal/process"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// The releases of spring-cloud-starter-alibaba-nacos-discovery that are tried,
// on the newest Spring Boot of their line that they were released for.
const (
	spring2021   = "2021.1"     // nacos-client 1.4.1
	spring2021_0 = "2021.0.1.0" // nacos-client 1.4.2
)

// springStartsWithin is how long a Spring Boot app may take to its place in the
// registry, on a machine that starts several at once.
const springStartsWithin = 3 * time.Minute

func spring(version string) client {
	return client{
		name: "spring-cloud-starter-alibaba-nacos-discovery", version: version,
		note: "An app registers when its web server listens, and calls others by name through Spring Cloud LoadBalancer.",
	}
}

// provesSpring notes what is tried with the versions and skips the test where
// they cannot be run.
func provesSpring(t *testing.T, claim string, versions ...string) {
	t.Helper()
	for _, version := range versions {
		proves(t, spring(version), claim)
	}
	for _, version := range versions {
		needs(t, needJar("spring-"+version+".jar"))
	}
}

// newSpring starts a Spring Boot app without waiting for it. It registers with
// metadata, weight, cluster and short timeouts.
func newSpring(t *testing.T, server *testserver.Server, version, service string, settings ...string) *app {
	t.Helper()
	a := &app{service: service, port: testserver.FreePort(t)}
	discovery := "--spring.cloud.nacos.discovery."
	args := []string{
		"-Xmx128m", "-jar", "spring-" + version + ".jar",
		"--spring.application.name=" + service, "--spring.main.banner-mode=off",
		"--server.address=127.0.0.1", "--server.port=" + strconv.Itoa(a.port),
		// The list that the client caches, not the load balancer's copy of it.
		"--spring.cloud.loadbalancer.cache.enabled=false",
		discovery + "server-addr=" + server.Addr(), discovery + "ip=127.0.0.1",
		discovery + "cluster-name=" + cluster, discovery + "weight=2.5", discovery + "metadata.version=1",
		discovery + "heart-beat-interval=" + milliseconds(beatInterval),
		discovery + "heart-beat-timeout=" + milliseconds(beatTimeout),
		discovery + "ip-delete-timeout=" + milliseconds(deleteTimeout),
	}
	for _, setting := range settings {
		args = append(args, discovery+setting)
	}
	a.Process = process.Start(t, service+" on Spring Cloud Alibaba "+version, java(t, args...))
	return a
}

// ready waits until the app has registered and answers.
func (a *app) ready(t *testing.T, server *testserver.Server) {
	t.Helper()
	poll.Until(t, springStartsWithin, a.answers)
	poll.Until(t, slack, a.registered(server))
}

func TestSpring_StaysRegisteredWhateverHappensToTheServer(t *testing.T) {
	for _, version := range []string{spring2021, spring2021_0} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			provesSpring(t, "server frozen for longer than the delete timeout and back: nobody is evicted", version)
			provesSpring(t, "server restarted over its data: nobody is missing", version)
			provesSpring(t, "server killed and replaced by one that knows nobody: back with the next beat and all it carries", version)
			server := testserver.Start(t, binaries.server)
			a := newSpring(t, server, version, "orders")
			a.ready(t, server)
			registered, err := onlyHost(server, "orders")
			require.NoError(t, err)
			poll.While(t, 2*beatInterval, a.registered(server))

			server.Pause()
			<-time.After(freeze(deleteTimeout)) // the pause itself
			server.Continue()
			poll.While(t, lifetime(deleteTimeout), func() error {
				_, err := onlyHost(server, "orders")
				return err
			})

			server.Restart(t)
			host, err := onlyHost(server, "orders")
			require.NoError(t, err, "there as soon as the server is")
			require.Equal(t, registered, host)
			poll.While(t, lifetime(deleteTimeout), a.registered(server))

			server.Replace(t)
			took := poll.Until(t, 2*beatInterval+slack, a.registered(server))
			t.Logf("back after %v", took)
			host, err = onlyHost(server, "orders")
			require.NoError(t, err)
			require.Equal(t, registered, host)
		})
	}
}

func TestSpring_LogsIn(t *testing.T) {
	t.Parallel()
	provesSpring(t, "authentication on: the right password registers and beats, a wrong one registers nothing", spring2021, spring2021_0)
	server := testserver.Start(t, binaries.server, testserver.AuthOn)
	server.Login(t)
	server.CreateUser(t, "fleet", "a-right-password", ":*:*")
	var right, wrong []*app
	for service, version := range map[string]string{"orders": spring2021, "payments": spring2021_0} {
		right = append(right, newSpring(t, server, version, service, "username=fleet", "password=a-right-password"))
		wrong = append(wrong, newSpring(t, server, version, "not-"+service, "username=fleet", "password=a-wrong-password"))
	}
	for _, a := range right {
		a.ready(t, server)
	}
	for _, a := range wrong {
		// The process stays: its start has failed, and the client's threads go on.
		poll.Until(t, springStartsWithin, func() error {
			if !strings.Contains(a.Output(), "register failed") {
				return errors.New("it has not tried to register")
			}
			return nil
		})
		hosts, err := server.Hosts(a.service)
		require.NoError(t, err)
		require.Empty(t, hosts)
	}
	poll.While(t, lifetime(deleteTimeout), func() error {
		return errors.Join(right[0].registered(server)(), right[1].registered(server)())
	})
}
