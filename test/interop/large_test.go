package interop

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// A list that no datagram holds is not sent in part and not tried again and again:
// who subscribes to it polls.
func TestSB13_AListThatFitsNoDatagramIsPolled(t *testing.T) {
	t.Parallel()
	const instances, writers = 3000, 8
	server := testserver.Start(t, binaries.server, testserver.MetricsOn)
	subscriber := server.Subscribe(t, "large")
	failed := make(chan error, writers)
	for writer := range writers {
		go func() {
			var err error
			for n := writer; n < instances && err == nil; n += writers {
				err = registerLarge(server, n)
			}
			failed <- err
		}()
	}
	for range writers {
		require.NoError(t, <-failed)
	}

	hosts, err := server.Hosts("large")
	require.NoError(t, err)
	require.Len(t, hosts, instances)
	const outcome = `rollcall_push_datagrams_total{outcome=%q}`
	tooLarge := func() (count float64, err error) {
		all, err := server.Metrics()
		return all[fmt.Sprintf(outcome, "too_large")], err
	}
	var count float64
	poll.Until(t, slack, func() error {
		if count, err = tooLarge(); err == nil && count == 0 {
			err = errors.New("nothing was too large")
		}
		return err
	})
	settled := time.Now()
	poll.Until(t, slack, func() error { // the last changes may still be gathered
		now, err := tooLarge()
		if err == nil && now != count {
			count, settled = now, time.Now()
		}
		if err == nil && time.Since(settled) < longer {
			err = errors.New("it is still tried")
		}
		return err
	})
	all, err := server.Metrics()
	require.NoError(t, err)
	require.Zero(t, all[fmt.Sprintf(outcome, "error")])
	_, err = subscriber.Pushed()
	require.NoError(t, err, "what was pushed while the list was short is whole")
}

// registerLarge registers one of many instances, with metadata that no
// compression makes small, and long timeouts.
func registerLarge(server *testserver.Server, n int) error {
	metadata, err := json.Marshal(map[string]string{
		"note":                         rand.Text() + rand.Text() + rand.Text() + rand.Text(),
		"preserved.heart.beat.timeout": milliseconds(time.Hour), "preserved.ip.delete.timeout": milliseconds(time.Hour),
	})
	if err != nil {
		return err
	}
	_, err = server.Call(http.MethodPost, "/v1/ns/instance", url.Values{
		"serviceName": {"large"}, "ip": {"192.0.2.1"}, "port": {strconv.Itoa(1 + n)}, "metadata": {string(metadata)},
	})
	return err
}
