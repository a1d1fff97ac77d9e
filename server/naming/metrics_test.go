package naming

import (
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
		for name := range got { // have tests of their own
			if strings.HasPrefix(name, "lease_clock_") || strings.HasPrefix(name, "beats_total ") {
				delete(got, name)
			}
		}
		require.Equal(t, map[string]float64{
			"registrations_total": 20, "deregistrations_total": 1, "expiries_total": 9,
			"health_flips_total": 19, "services": 1, "instances healthy=false kind=ephemeral": 10, "instances healthy=true kind=ephemeral": 0,
			"instances healthy=false kind=persistent": 0, "instances healthy=true kind=persistent": 0,
		}, got)
	})
}

// Whatever call brings an instance or takes it out, it is counted.
func TestMetrics_EveryCallThatRegistersOrTakesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		s := newStore(t, Options{Registerer: registry})
		k := serviceKey("measured")
		for port := range 3 { // the third PUT changes the second's instance
			require.NoError(t, s.Update(k, registration("192.0.2.1", min(port, 1)), Given{}, false))
		}
		require.NoError(t, s.Register(k, registration("192.0.2.1", 2)))
		require.ErrorIs(t, s.Update(k, registration("192.0.2.1", 9), Given{}, true), ErrInstanceNotFound)
		require.NoError(t, s.Deregister(k, at("192.0.2.1", 0)))
		require.NoError(t, s.RemoveService(k))
		require.NoError(t, s.RemoveService(k))

		got := gathered(t, registry)
		require.Equal(t, 3.0, got["registrations_total"])
		require.Equal(t, 3.0, got["deregistrations_total"])
	})
}

func TestMetrics_BeatsByKindAndAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		s := newStore(t, Options{Registerer: registry})
		k := serviceKey("beaten")
		beat := func(times int, key InstanceKey, full *wire.Beat) {
			for range times {
				_, _ = s.Beat(k, key, full)
			}
		}
		require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
		held := registration("192.0.2.1", 2)
		_, err := s.ApplyPersistent(k, Persistent{Registration: held})
		require.NoError(t, err)
		full := &wire.Beat{Weight: 1}

		beat(5, at("192.0.2.1", 1), nil)
		beat(1, held.InstanceKey, nil)
		beat(7, at("192.0.2.9", 1), nil)
		beat(1, InstanceKey{}, nil)
		beat(2, at("not a host", 1), nil)
		beat(4, at("192.0.2.1", 1), full)
		beat(1, held.InstanceKey, full)
		beat(3, at("192.0.2.1", 3), full) // the first creates it
		require.NoError(t, s.Deregister(k, at("192.0.2.1", 1)))
		beat(2, at("192.0.2.1", 1), full) // too soon
		beat(9, InstanceKey{Cluster: "a_b", IP: "192.0.2.1", Port: 1}, full)
		s.BeatMalformed(false)
		s.BeatMalformed(true)

		got := map[string]float64{}
		total := 0.0
		for name, value := range gathered(t, registry) {
			if name, ok := strings.CutPrefix(name, "beats_total "); ok {
				got[name] = value
				total += value
			}
		}
		require.Equal(t, map[string]float64{
			"answer=known kind=light": 6, "answer=created kind=light": 0,
			"answer=unknown kind=light": 8, "answer=refused kind=light": 3,
			"answer=known kind=full": 7, "answer=created kind=full": 1,
			"answer=unknown kind=full": 2, "answer=refused kind=full": 10,
		}, got)
		require.Equal(t, total, float64(s.Stats().Beats), "whoever beats is heard, known or not")
	})
}

func TestMetrics_FrozenTimeByReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		s := newStore(t, Options{Registerer: registry})
		require.NoError(t, s.Close()) // from here on the test is the clock
		requireFrozen := func(late, stall, deaf, off float64) {
			t.Helper()
			got := gathered(t, registry)
			for reason, want := range map[string]float64{"late": late, "stall": stall, "deaf": deaf, "switch": off} {
				name := "lease_clock_frozen_seconds_total reason=" + reason
				require.Contains(t, got, name)
				require.InDelta(t, want, got[name], 1e-6, reason)
			}
		}
		requireFrozen(0, 0, 0, 0)
		s.advance(leaseTick, time.Now())
		requireFrozen(0, 0, 0, 0)
		s.advance(500*time.Millisecond, time.Now())
		requireFrozen(0.3, 0, 0, 0)
		s.advance(10*time.Second, time.Now())
		requireFrozen(0.3, 9.8, 0, 0)
		require.NoError(t, s.switches.Apply("check", "false"))
		s.advance(leaseTick, time.Now())
		requireFrozen(0.3, 9.8, 0, 0.1)
		require.NoError(t, s.switches.Apply("check", "true"))

		for range time.Minute / leaseTick { // of 50 beats a second, nobody being known
			for range 5 {
				_, err := s.Beat(serviceKey("loud"), at("192.0.2.1", 1), nil)
				require.NoError(t, err)
			}
			s.advance(leaseTick, time.Now())
		}
		requireFrozen(0.3, 9.8, 0, 0.1)
		for range 30 { // 3 s of silence, of which less than 2 s may be a coincidence
			s.advance(leaseTick, time.Now())
		}
		requireFrozen(0.3, 9.8, 1.2, 0.1)
	})
}
