package snapshot

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	writes   prometheus.Counter
	failures prometheus.Counter
	bytes    prometheus.Gauge
	seconds  prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	f := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "rollcall", Subsystem: "snapshot", Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Namespace: "rollcall", Subsystem: "snapshot", Name: name, Help: help})
	}
	return &metrics{
		writes:   counter("writes_total", "Snapshots of ephemeral instances written to disk."),
		failures: counter("failures_total", "Snapshots that could not be written. Alarm when it grows."),
		bytes:    gauge("bytes", "Size of the last snapshot written."),
		seconds:  gauge("duration_seconds", "How long writing the last snapshot took, synced."),
	}
}
