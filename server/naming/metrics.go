package naming

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	registrations   prometheus.Counter
	deregistrations prometheus.Counter
	expiries        prometheus.Counter
	flips           prometheus.Counter
	held            prometheus.Counter
	frozen          [freezes]prometheus.Counter
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
	for kind, counts := range map[string]*[beatAnswers]atomic.Uint64{"light": &s.beats.light, "full": &s.beats.full} {
		for a, answer := range [beatAnswers]string{
			beatKnown: "known", beatCreated: "created", beatUnknown: "unknown", beatRefused: "refused",
		} {
			f.NewCounterFunc(prometheus.CounterOpts{
				Namespace: "rollcall", Subsystem: "naming", Name: "beats_total",
				Help:        "Beats received, by kind and by what became of them.",
				ConstLabels: prometheus.Labels{"kind": kind, "answer": answer},
			}, func() float64 { return float64(counts[a].Load()) })
		}
	}
	gauge("services", "Services there are.", nil, func() float64 { return float64(s.services.Load()) })
	for kind, t := range map[string]*tally{"ephemeral": &s.ephemeral, "persistent": &s.persistent} {
		const help = "Instances there are, by kind and real health."
		gauge("instances", help, prometheus.Labels{"kind": kind, "healthy": "true"},
			func() float64 { return float64(t.healthy.Load()) })
		gauge("instances", help, prometheus.Labels{"kind": kind, "healthy": "false"},
			func() float64 { return float64(t.instances.Load() - t.healthy.Load()) })
	}
	frozen := func(reason string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{
			Namespace: "rollcall", Subsystem: "naming", Name: "lease_clock_frozen_seconds_total",
			Help: "Time that does not count as silence, by reason: the clock was late, the process stood still (stall), " +
				"it heard nobody (deaf), beats were refused for too much load (shed), or checking is switched off (switch).",
			ConstLabels: prometheus.Labels{"reason": reason},
		})
	}
	return &metrics{
		registrations:   counter("registrations_total", "Registrations of ephemeral instances by calls."),
		deregistrations: counter("deregistrations_total", "Ephemeral instances taken out by calls, with their services too."),
		expiries:        counter("expiries_total", "Instances removed because they fell silent."),
		flips:           counter("health_flips_total", "Changes of an instance's health."),
		held: counter("held_removals_total",
			"Removals put off because more than half of a service fell silent at once. Alarm when it grows."),
		frozen: [freezes]prometheus.Counter{
			frozenLate: frozen("late"), frozenStall: frozen("stall"),
			frozenDeaf: frozen("deaf"), frozenShed: frozen("shed"), frozenSwitch: frozen("switch"),
		},
	}
}
