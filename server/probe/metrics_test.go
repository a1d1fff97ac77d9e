package probe

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		f := start(t, func(o *Options) { o.Registerer = r })
		f.net.set(local(1), accept)
		f.net.set(local(2), refusal)
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, []Target{unhealthy(1), healthy(2), healthy(3)}))
		time.Sleep(7 * time.Second)
		require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(`
# HELP rollcall_probe_changes_total Changes of health by probes, by what the instance became: healthy or unhealthy.
# TYPE rollcall_probe_changes_total counter
rollcall_probe_changes_total{to="healthy"} 1
rollcall_probe_changes_total{to="unhealthy"} 1
# HELP rollcall_probe_targets Instances that are probed.
# TYPE rollcall_probe_targets gauge
rollcall_probe_targets 3
# HELP rollcall_probe_waiting Probes that are due and wait for a worker.
# TYPE rollcall_probe_waiting gauge
rollcall_probe_waiting 0
`), "rollcall_probe_changes_total", "rollcall_probe_targets", "rollcall_probe_waiting"))
		require.Equal(t, 3.0, testutil.ToFloat64(f.metrics.probesByOutcome[TCP][succeeded]))
		require.Equal(t, 2.0, testutil.ToFloat64(f.metrics.probesByOutcome[TCP][refused]))
		require.Equal(t, 2.0, testutil.ToFloat64(f.metrics.probesByOutcome[TCP][timedOut]))
		_, err := New(Options{Registerer: r})
		require.Error(t, err, "the same metrics twice")
	})
}
