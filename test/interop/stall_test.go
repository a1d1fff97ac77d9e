package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/length"
	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// beatFleet sends a full beat for each of the instances once per interval, until
// the returned function is called or the test ends. A beat that fails is lost:
// the next comes in time.
func beatFleet(t *testing.T, server *testserver.Server, services []string, ports []int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var beating sync.WaitGroup
	for _, service := range services {
		for _, port := range ports {
			beating.Go(func() { beat(ctx, server, service, port) })
		}
	}
	stop = func() {
		cancel()
		beating.Wait()
	}
	t.Cleanup(stop)
	return stop
}

func beat(ctx context.Context, server *testserver.Server, service string, port int) {
	document, err := json.Marshal(map[string]any{
		"ip": "127.0.0.1", "port": port, "cluster": "DEFAULT", "weight": 1, "metadata": shortLived(),
	})
	if err != nil {
		return
	}
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_, _ = server.Call(http.MethodPut, "/v1/ns/instance/beat", url.Values{
				"serviceName": {service}, "ip": {"127.0.0.1"}, "port": {strconv.Itoa(port)}, "beat": {string(document)},
			})
		}
	}
}

// A server that was stopped for longer than any timeout has heard no beat, but
// that says nothing about who beats.
func TestSB08_AServerThatWasStoppedEvictsNobody(t *testing.T) {
	t.Parallel()
	requireNobodyEvicted(t, testserver.Start(t, binaries.server), (*testserver.Server).Pause, (*testserver.Server).Continue)
}

// Neither has one that nothing could reach.
func TestSB08_AServerThatWasCutOffEvictsNobody(t *testing.T) {
	t.Parallel()
	requireNobodyEvicted(t, testserver.StartBehindGate(t, binaries.server), (*testserver.Server).CutOff, (*testserver.Server).Reconnect)
}

// requireNobodyEvicted has a fleet beat, keeps the server from hearing it for
// longer than any timeout, and looks at what it then says of the fleet.
func requireNobodyEvicted(t *testing.T, server *testserver.Server, deafen, restore func(*testserver.Server)) {
	t.Helper()
	var services []string
	for i := range length.Of(10, 20) {
		services = append(services, "service-"+strconv.Itoa(i))
	}
	ports := []int{8001, 8002, 8003, 8004, 8005}
	var subscribers []*testserver.Subscriber
	for _, service := range services {
		for _, port := range ports {
			registerWithoutBeats(t, server, service, port)
		}
		subscribers = append(subscribers, server.Subscribe(t, service))
	}
	stopBeats := beatFleet(t, server, services, ports)

	each := func(check func(service string, hosts []testserver.Host) error) func() error {
		return func() error {
			for _, service := range services {
				hosts, err := server.Hosts(service)
				if err == nil {
					err = check(service, hosts)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	there := func(service string, hosts []testserver.Host) error {
		if len(hosts) != len(ports) {
			return fmt.Errorf("%s has %d of %d instances", service, len(hosts), len(ports))
		}
		return nil
	}
	well := func(service string, hosts []testserver.Host) error {
		for _, host := range hosts {
			if !host.Healthy {
				return fmt.Errorf("%s has an unhealthy instance: %+v", service, host)
			}
		}
		return there(service, hosts)
	}
	// Long enough to know how many beats are usual, which is how a server that is
	// cut off notices.
	poll.While(t, length.Of(12*time.Second, 40*time.Second), each(well))

	silence := length.Of(deleteTimeout+4*time.Second, 2*time.Minute)
	t.Logf("nothing is heard for %v", silence)
	deafen(server)
	<-time.After(silence)
	restore(server)
	poll.While(t, beatInterval+longer, each(there))
	poll.While(t, deleteTimeout, each(well))
	for i, subscriber := range subscribers {
		lists, err := subscriber.Pushed()
		require.NoError(t, err)
		for _, list := range lists {
			require.NotEmpty(t, list, "an empty list of %s was pushed", services[i])
		}
	}

	t.Log("nobody was evicted; now the beats end")
	// The control: who really stops beating goes, after at most one timeout of
	// grace and one of its own.
	stopBeats()
	poll.Until(t, 2*deleteTimeout+slack, each(func(service string, hosts []testserver.Host) error {
		if len(hosts) > 0 {
			return fmt.Errorf("%s still has %d instances", service, len(hosts))
		}
		return nil
	}))
	for i, subscriber := range subscribers {
		poll.Until(t, slack, func() error {
			lists, err := subscriber.Pushed()
			if err == nil && (len(lists) == 0 || len(lists[len(lists)-1]) > 0) {
				err = errors.New("the end of " + services[i] + " was not pushed")
			}
			return err
		})
	}
}
