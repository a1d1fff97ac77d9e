package loadbalance

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/registry"
)

// A service that is swept takes its probes with it, and a caller that still holds
// it cannot start new ones.
func TestStates_SweptServiceEndsItsProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := registry.ServiceID{Name: "orders"}.Normalize()
		source := memory.New()
		source.Put(registry.NewInstance(id, "192.0.2.1", 80))
		c, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}})
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		probes := 0
		p := DefaultProperties()
		p.Configurations = StageHealthCheck
		l, err := New(Options{Discovery: c, Properties: &p, ProbeTransport: roundTrip(func(*http.Request) (*http.Response, error) {
			probes++
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})})
		require.NoError(t, err)
		_, err = l.Choose(t.Context(), id)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 1, probes)
		s := l.services.get(id)
		l.services.mu.Lock()
		swept := l.services.remove(func(*state) bool { return true })
		l.services.mu.Unlock()
		require.Equal(t, []*state{s}, swept)
		s.retire()
		source.Put(registry.NewInstance(id, "192.0.2.2", 80))
		_, _, err = l.rebuild(t.Context(), s)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, probes)
		require.NoError(t, l.Close())
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDR10_LabelsHaveFewValues(t *testing.T) {
	for status, want := range map[int]string{
		101: "INFORMATIONAL", 204: "SUCCESS", 302: "REDIRECTION", 404: "CLIENT_ERROR", 503: "SERVER_ERROR", 0: "UNKNOWN",
	} {
		require.Equal(t, want, outcomeOf(status))
	}
	for want, err := range map[string]error{
		"None": nil, "canceled": context.Canceled, "timeout": context.DeadlineExceeded, "io": errors.New("x"),
	} {
		require.Equal(t, want, exceptionOf(err))
	}
	require.Equal(t, "GET", methodOf("GET"))
	require.Equal(t, "UNKNOWN", methodOf("BREW"))
}

func TestReconfigure_ChecksChainsWithStagesOfOnesOwn(t *testing.T) {
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{memory.New()}})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	mine := FilterStage("mine", Where(func(*registry.Instance) bool { return true }), true)
	require.Equal(t, "mine", mine.Name())
	l, err := New(Options{Discovery: c, Stages: []Stage{mine}})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	p := DefaultProperties()
	p.Chain = []string{"usable", "mine", "zone-preference"}
	p.Clients = map[string]map[string]any{"a": {"chain": "usable,mine"}}
	require.NoError(t, l.Reconfigure(p))
	p.Chain = []string{"usable", "zone-preference", "mine"}
	p.Clients["a"]["chain"] = []any{"usable", "yours"}
	p.Clients["a"]["warm-up"] = "soon"
	p.Clients["b"] = map[string]any{"chain": "mine"}
	err = l.Reconfigure(p)
	require.ErrorContains(t, err, "cloud.loadbalancer.chain: mine (what must hold) must stand before zone-preference")
	require.ErrorContains(t, err, "cloud.loadbalancer.clients.b.chain: must begin with usable")
	require.ErrorContains(t, err, "cloud.loadbalancer.clients.a.warm-up: must be a duration")
}

// Two keys of one service are read the same way each time, not as the map has them.
func TestClients_TheNameAsItIsWrittenGoesFirst(t *testing.T) {
	p := DefaultProperties()
	p.Clients = map[string]map[string]any{
		"ORDERS": {"algorithm": PolicyRandom}, "Orders": {"algorithm": PolicyRoundRobin}, "orders": {"algorithm": PolicyP2C},
	}
	table := map[string]string{"ORDERS": "upper", "Orders": "title", "orders": "lower"}
	for range 50 {
		for name, want := range map[string][2]string{
			"orders": {PolicyP2C, "lower"}, "Orders": {PolicyRoundRobin, "title"}, "oRDERS": {PolicyRandom, "upper"},
		} {
			id := registry.ServiceID{Name: name}
			of, err := p.For(id)
			require.NoError(t, err)
			require.Equal(t, want, [2]string{of.Algorithm, forService(table, id, "")}, name)
		}
	}
}
