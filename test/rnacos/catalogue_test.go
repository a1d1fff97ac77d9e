package rnacos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// catalogueTimeouts are the settings of a peer with a [catalogue]: what is not
// beaten for is soon unhealthy, and never removed.
var catalogueTimeouts = timeouts(8*time.Second, time.Hour)

// beatEvery is far below the health timeout of catalogueTimeouts.
const beatEvery = 250 * time.Millisecond

// catalogue has a peer know given instances, as other clients would have it. There
// is no other way to make an instance unhealthy than to leave it without beats.
type catalogue struct {
	peer *peer

	// mu is held during each round of beats and each change: r-nacos takes a beat
	// of an instance that was just removed for a new one.
	mu    sync.Mutex
	known map[registry.Key]registry.Instance
}

// newCatalogue returns an empty catalogue, whose beats end with the test.
func newCatalogue(t *testing.T, p *peer) *catalogue {
	c := &catalogue{peer: p, known: make(map[registry.Key]registry.Instance)}
	ctx, cancel := context.WithCancel(context.Background())
	var beating sync.WaitGroup
	beating.Go(func() { c.beat(ctx) })
	t.Cleanup(func() {
		cancel()
		beating.Wait()
	})
	return c
}

// beat beats for what is to be healthy.
func (c *catalogue) beat(ctx context.Context) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		c.mu.Lock()
		for _, i := range c.known {
			if i.Healthy {
				// A peer that was made to fail does not answer.
				_, _ = c.peer.call(http.MethodPut, "/v1/ns/instance/beat", instanceParams(i))
			}
		}
		c.mu.Unlock()
	}
}

// set replaces the instances of a service, and returns when each has the health it
// is to have.
func (c *catalogue) set(t *testing.T, id registry.ServiceID, instances []registry.Instance) {
	t.Helper()
	c.replace(t, id, instances)
	params := instanceParams(registry.Instance{Service: id})
	params.Set("healthyOnly", "false")
	for _, want := range instances {
		if want.Healthy {
			continue
		}
		poll.Until(t, within, func() error {
			body, err := c.peer.call(http.MethodGet, "/v1/ns/instance/list", params)
			if err != nil {
				return err
			}
			hosts, err := testserver.ParseList(body)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(hosts, func(h testserver.Host) bool { return h.IP == want.IP && !h.Healthy }) {
				return nil
			}
			return fmt.Errorf("%s is not unhealthy yet: %s", want.IP, body)
		})
	}
}

func (c *catalogue) replace(t *testing.T, id registry.ServiceID, instances []registry.Instance) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := make(map[registry.Key]bool)
	for _, i := range instances {
		keep[i.Key()] = true
		c.known[i.Key()] = i
		metadata, err := json.Marshal(i.Metadata)
		require.NoError(t, err)
		params := instanceParams(i)
		params.Set("weight", strconv.FormatFloat(i.Weight, 'f', -1, 64))
		params.Set("enabled", strconv.FormatBool(i.Enabled))
		params.Set("metadata", string(metadata))
		answer, err := c.peer.call(http.MethodPost, "/v1/ns/instance", params)
		require.NoError(t, err)
		require.Equal(t, "ok", answer)
	}
	for key, i := range c.known {
		if key.Service == id.Normalize() && !keep[key] {
			delete(c.known, key)
			answer, err := c.peer.call(http.MethodDelete, "/v1/ns/instance", instanceParams(i))
			require.NoError(t, err)
			require.Equal(t, "ok", answer)
		}
	}
}
