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
	server := testserver.Start(t, binaries.server)
	services := []string{"a", "b", "c", "d", "e"}
	ports := []int{8001, 8002, 8003, 8004, 8005}
	var subscribers []*testserver.Subscriber
	for _, service := range services {
		for _, port := range ports {
			registerWithoutBeats(t, server, service, port)
		}
		subscribers = append(subscribers, server.Subscribe(t, service))
	}
	stopBeats := beatFleet(t, server, services, ports)

	complete := func(mayBeUnhealthy bool) error {
		for _, service := range services {
			hosts, err := server.Hosts(service)
			if err != nil {
				return err
			}
			if len(hosts) != len(ports) {
				return fmt.Errorf("%s has %d of %d instances", service, len(hosts), len(ports))
			}
			for _, host := range hosts {
				if !host.Healthy && !mayBeUnhealthy {
					return fmt.Errorf("%s has an unhealthy instance: %+v", service, host)
				}
			}
		}
		return nil
	}
	poll.While(t, 2*beatInterval, func() error { return complete(false) })

	server.Pause()
	<-time.After(deleteTimeout + 4*time.Second) // the pause itself
	server.Continue()
	poll.While(t, beatInterval+slack, func() error { return complete(true) })
	poll.While(t, deleteTimeout, func() error { return complete(false) })
	for i, subscriber := range subscribers {
		lists, err := subscriber.Pushed()
		require.NoError(t, err)
		for _, list := range lists {
			require.NotEmpty(t, list, "an empty list of %s was pushed", services[i])
		}
	}

	// The control: who really stops beating goes, after at most one timeout of
	// grace and one of its own.
	stopBeats()
	poll.Until(t, 2*deleteTimeout+10*time.Second, func() error {
		for _, service := range services {
			hosts, err := server.Hosts(service)
			if err != nil {
				return err
			}
			if len(hosts) > 0 {
				return fmt.Errorf("%s still has %d instances", service, len(hosts))
			}
		}
		return nil
	})
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
