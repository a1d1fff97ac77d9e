package discovery

import "github.com/prometheus/client_golang/prometheus"

// Values of the label outcome.
const (
	outcomeList  = "list"
	outcomeEmpty = "empty"
	outcomeError = "error"
)

// metrics counts in any case and shows itself where there is a registerer.
type metrics struct {
	registerer prometheus.Registerer
	fetches    *prometheus.CounterVec
	stale      prometheus.GaugeFunc
}

func newMetrics(r prometheus.Registerer, countStale func() float64) (*metrics, error) {
	m := &metrics{
		registerer: r,
		fetches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_discovery_fetches_total",
			Help: "Lists fetched, by source and outcome (list, empty, error).",
		}, []string{"source", "outcome"}),
		stale: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "rollcall_discovery_stale_services",
			Help: "Services whose last list is in use because they cannot be refreshed.",
		}, countStale),
	}
	if r == nil {
		return m, nil
	}
	if err := r.Register(m.fetches); err != nil {
		return nil, err
	}
	if err := r.Register(m.stale); err != nil {
		r.Unregister(m.fetches)
		return nil, err
	}
	return m, nil
}

func (m *metrics) fetched(source string, instances int, err error) {
	outcome := outcomeList
	switch {
	case err != nil:
		outcome = outcomeError
	case instances == 0:
		outcome = outcomeEmpty
	}
	m.fetches.WithLabelValues(source, outcome).Inc()
}

func (m *metrics) unregister() {
	if m.registerer != nil {
		m.registerer.Unregister(m.fetches)
		m.registerer.Unregister(m.stale)
	}
}
