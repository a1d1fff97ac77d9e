package shed

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// register makes the metrics. Without a registerer they count for nobody.
func (s *Shedder) register(registerer prometheus.Registerer) error {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "rollcall", Name: "shed_requests_total",
		Help: "Requests answered 503 because there were too many, by kind (read, change, beat) and reason: places" +
			" (as many were worked on as may be) or wait (requests waited too long for a processor). Alarm when it grows.",
	}, []string{"kind", "reason"})
	for k := range kinds {
		s.noPlace[k] = refused.WithLabelValues(k.String(), "places")
	}
	s.waitLong = refused.WithLabelValues(Read.String(), "wait")
	if registerer == nil {
		return nil
	}
	errs := []error{
		registerer.Register(refused),
		registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "rollcall", Name: "processor_wait_seconds",
			Help: "How long a request that comes now waits for a processor.",
		}, func() float64 { return time.Duration(s.waited.Load()).Seconds() })),
	}
	for k := range kinds {
		errs = append(errs, registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "rollcall", Name: "active_requests",
			Help:        "Requests that are worked on, by kind.",
			ConstLabels: prometheus.Labels{"kind": k.String()},
		}, func() float64 { return float64(s.active[k].Load()) })))
	}
	return errors.Join(errs...)
}
