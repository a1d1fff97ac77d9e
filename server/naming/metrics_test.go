package naming

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// gathered returns the value of every metric, labels appended to its name.
func gathered(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "rollcall_naming_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		s := newStore(t, Options{Registerer: registry})
		k := serviceKey("measured")
		for port := range 20 {
			require.NoError(t, s.Register(k, shortLived(port)))
		}
		_, err := s.Beat(k, at("192.0.2.1", 0), nil)
		require.NoError(t, err)
		require.NoError(t, s.Deregister(k, at("192.0.2.1", 0)))
		time.Sleep(6500 * time.Millisecond)

		got := gathered(t, registry)
		require.Equal(t, 10.0, got["held_removals_total"])
		delete(got, "held_removals_total")
		delete(got, "lease_clock_frozen_seconds_total")
		require.Equal(t, map[string]float64{
			"beats_total": 1, "registrations_total": 20, "deregistrations_total": 1, "expiries_total": 9,
			"health_flips_total": 19, "services": 1, "instances healthy=false": 10, "instances healthy=true": 0,
		}, got)
	})
}

func TestSB23_WarningsAreRatedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newStore(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		k := serviceKey("flood")
		odd := func(port int) {
			require.NoError(t, s.Register(k, withMetadata(registration("192.0.2.1", port), wire.MetadataBeatTimeout, "30")))
		}
		for port := range 10_000 {
			odd(port)
		}
		require.Equal(t, 20, strings.Count(log.String(), "\n"))
		log.Reset()
		time.Sleep(2 * time.Second)
		odd(10_000)
		require.Contains(t, log.String(), "muted=9980")
	})
}
