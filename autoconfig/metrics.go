package autoconfig

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// newMetrics returns the application's own registry, with what Go and the
// operating system say about the process.
func newMetrics() (*prometheus.Registry, error) {
	r := prometheus.NewRegistry()
	return r, errors.Join(
		r.Register(collectors.NewGoCollector()),
		r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	)
}
