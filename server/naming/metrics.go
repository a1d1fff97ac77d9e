package naming

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	registrations   prometheus.Counter
	deregistrations prometheus.Counter
	expiries        prometheus.Counter
	flips           prometheus.Counter
	held            prometheus.Counter
	frozen          prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, s *Store) *metrics {
	f := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "rollcall", Subsystem: "naming", Name: name, Help: help})
	}
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "rollcall", Subsystem: "naming", Name: name, Help: help, ConstLabels: labels,
		}, value)
	}
	f.NewCounterFunc(prometheus.CounterOpts{
		Namespace: "rollcall", Subsystem: "naming", Name: "beats_total", Help: "Beats received.",
	}, func() float64 { return float64(s.beats.Load()) })
	gauge("services", "Services there are.", nil, func() float64 { return float64(s.services.Load()) })
	for kind, t := range map[string]*tally{"ephemeral": &s.ephemeral, "persistent": &s.persistent} {
		const help = "Instances there are, by kind and real health."
		gauge("instances", help, prometheus.Labels{"kind": kind, "healthy": "true"},
			func() float64 { return float64(t.healthy.Load()) })
		gauge("instances", help, prometheus.Labels{"kind": kind, "healthy": "false"},
			func() float64 { return float64(t.instances.Load() - t.healthy.Load()) })
	}
	return &metrics{
		registrations:   counter("registrations_total", "Registrations by clients."),
		deregistrations: counter("deregistrations_total", "Instances explicitly deregistered."),
		expiries:        counter("expiries_total", "Instances removed because they fell silent."),
		flips:           counter("health_flips_total", "Changes of an instance's health."),
		held: counter("held_removals_total",
			"Removals put off because more than half of a service fell silent at once. Alarm when it grows."),
		frozen: counter("lease_clock_frozen_seconds_total",
			"Time that does not count as silence: the process stood still, heard nobody, or checking is switched off."),
	}
}
