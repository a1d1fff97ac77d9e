package interop

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/test/internal/length"
	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// Timeouts of an instance, set by its metadata: shortened to a beat each second,
// unhealthy after six and removed after nine, so that several beats of a process
// that has to wait for a processor may be late, or in full length those that an
// instance has by itself. The server judges to within a quarter of a second or so.
var (
	beatInterval  = length.Of(time.Second, 5*time.Second)
	beatTimeout   = length.Of(6*time.Second, 15*time.Second)
	deleteTimeout = length.Of(9*time.Second, 30*time.Second)
)

const (
	// slack is what a busy machine may add to the time in which something happens.
	slack = 30 * time.Second
	// longer is how much longer than it takes to go wrong something is watched.
	longer = 2 * time.Second
)

// lifetime is how long an instance with this delete timeout is watched that must
// live by its beats.
func lifetime(removed time.Duration) time.Duration {
	return length.Of(removed+longer, 36*time.Second)
}

// freeze is how long a server stands still that must evict no instance with this
// delete timeout.
func freeze(removed time.Duration) time.Duration {
	return length.Of(removed+4*time.Second, time.Minute)
}

// shortLived returns metadata with these timeouts and the pairs given.
func shortLived(pairs ...string) map[string]string {
	metadata := map[string]string{
		"preserved.heart.beat.interval": milliseconds(beatInterval),
		"preserved.heart.beat.timeout":  milliseconds(beatTimeout),
		"preserved.ip.delete.timeout":   milliseconds(deleteTimeout),
	}
	for i := 0; i < len(pairs); i += 2 {
		metadata[pairs[i]] = pairs[i+1]
	}
	return metadata
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// onlyHost returns a service's instance when it has exactly one and the server
// can be asked.
func onlyHost(server *testserver.Server, service string) (testserver.Host, error) {
	hosts, err := server.Hosts(service)
	if err != nil {
		return testserver.Host{}, err
	}
	if len(hosts) != 1 {
		return testserver.Host{}, fmt.Errorf("%s has %d instances, not one: %+v", service, len(hosts), hosts)
	}
	return hosts[0], nil
}

// healthy is nil when the service has exactly one instance and that is healthy.
func healthy(server *testserver.Server, service string) func() error {
	return func() error {
		host, err := onlyHost(server, service)
		if err != nil {
			return err
		}
		if !host.Healthy {
			return fmt.Errorf("%s is unhealthy: %+v", service, host)
		}
		return nil
	}
}

// unhealthy is nil when the service has exactly one instance that has not been
// heard of for too long. A second, healthy one may keep the list from being
// protected, which would show every instance as healthy.
func unhealthy(server *testserver.Server, service string, port int) func() error {
	return func() error {
		hosts, err := server.Hosts(service)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(hosts, func(h testserver.Host) bool { return h.Port == port })
		if i < 0 {
			return fmt.Errorf("%s has no instance on port %d: %+v", service, port, hosts)
		}
		if hosts[i].Healthy {
			return fmt.Errorf("%s is healthy: %+v", service, hosts[i])
		}
		return nil
	}
}

// gone is nil when the service has no instance on the port.
func gone(server *testserver.Server, service string, port int) func() error {
	return func() error {
		hosts, err := server.Hosts(service)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(hosts, func(h testserver.Host) bool { return h.Port == port }) {
			return fmt.Errorf("%s still has an instance on port %d: %+v", service, port, hosts)
		}
		return nil
	}
}

// requireGone waits for no time at all: the change that was answered is visible.
func requireGone(t *testing.T, server *testserver.Server, service string, port int) {
	t.Helper()
	poll.Until(t, 0, gone(server, service, port))
}

// portsOf returns the ports of the hosts, sorted.
func portsOf(hosts []testserver.Host) []int {
	ports := make([]int, 0, len(hosts))
	for _, host := range hosts {
		ports = append(ports, host.Port)
	}
	slices.Sort(ports)
	return ports
}
