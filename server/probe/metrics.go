package probe

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	toUp, toDown    prometheus.Counter
	untold          prometheus.Counter
	probesByOutcome map[Type]map[outcome]prometheus.Counter
}

func newMetrics(p *Prober, r prometheus.Registerer) (*metrics, error) {
	probes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rollcall_probes_total",
		Help: "Probes of persistent instances by type (TCP, HTTP, MYSQL) and outcome (success, refused, timeout, " +
			"unexpected, unavailable, read_only, error).",
	}, []string{"type", "outcome"})
	changes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rollcall_probe_changes_total",
		Help: "Changes of health by probes, by what the instance became: healthy or unhealthy.",
	}, []string{"to"})
	untold := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "rollcall_probe_changes_refused_total",
		Help: "Changes of health that could not be stored and are tried again with the next probe.",
	})
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			p.mu.Lock()
			defer p.mu.Unlock()
			return float64(value())
		})
	}
	if r != nil {
		for _, c := range []prometheus.Collector{
			probes, changes, untold,
			gauge("rollcall_probe_targets", "Instances that are probed.", func() int { return p.targets }),
			gauge("rollcall_probe_waiting", "Probes that are due and wait for a worker.",
				func() int { return p.brisk.len() + p.slow.len() }),
			gauge("rollcall_probe_workers", "Probes that are under way.", func() int { return p.workers }),
		} {
			if err := r.Register(c); err != nil {
				return nil, fmt.Errorf("register the probe metrics: %w", err)
			}
		}
	}
	m := &metrics{
		toUp: changes.WithLabelValues("healthy"), toDown: changes.WithLabelValues("unhealthy"), untold: untold,
		probesByOutcome: make(map[Type]map[outcome]prometheus.Counter),
	}
	for _, t := range []Type{TCP, HTTP, MySQL} {
		m.probesByOutcome[t] = make(map[outcome]prometheus.Counter)
		for _, o := range outcomes {
			m.probesByOutcome[t][o] = probes.WithLabelValues(string(t), string(o))
		}
	}
	return m, nil
}

func (m *metrics) probed(t Type, o outcome) { m.probesByOutcome[t][o].Inc() }

func (m *metrics) changed(healthy bool) {
	if healthy {
		m.toUp.Inc()
	} else {
		m.toDown.Inc()
	}
}
