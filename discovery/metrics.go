package discovery

import "github.com/prometheus/client_golang/prometheus"

// Values of the label outcome.
const (
	outcomeList  = "list"
	outcomeEmpty = "empty"
	outcomeError = "error"

	diskWritten = "written"
	diskFailed  = "failed"
	diskCorrupt = "corrupt"
)

// metrics counts in any case and shows itself where there is a registerer.
type metrics struct {
	registerer prometheus.Registerer
	fetches    *prometheus.CounterVec
	files      *prometheus.CounterVec
	stale      prometheus.GaugeFunc
	protected  prometheus.GaugeFunc
}

func newMetrics(r prometheus.Registerer, countStale, countProtected func() float64) (*metrics, error) {
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
		protected: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "rollcall_discovery_protected_services",
			Help: "Services whose last list is in use because an empty answer is not believed yet.",
		}, countProtected),
		files: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_discovery_list_files_total",
			Help: "Files with lists of services, by outcome (written, failed, corrupt).",
		}, []string{"outcome"}),
	}
	if r == nil {
		return m, nil
	}
	for n, c := range m.all() {
		if err := r.Register(c); err != nil {
			for _, registered := range m.all()[:n] {
				r.Unregister(registered)
			}
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.fetches, m.files, m.stale, m.protected}
}

func (m *metrics) file(outcome string) { m.files.WithLabelValues(outcome).Inc() }

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
		for _, c := range m.all() {
			m.registerer.Unregister(c)
		}
	}
}
