package push

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts datagrams by what became of them. One datagram can count more
// than once: as sent, retried and acknowledged.
type metrics struct {
	sent, retried, acked, failed prometheus.Counter
	tooLarge, limited, errors    prometheus.Counter
	unmatched                    prometheus.Counter
	dropped                      prometheus.Counter
	delay                        prometheus.Histogram
}

func newMetrics(s *Server, r prometheus.Registerer) (*metrics, error) {
	datagrams := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rollcall_push_datagrams_total",
		Help: "Push datagrams by what became of them: sent, retried (sent once more), acked, failed (given up), " +
			"too_large (per answer, not sent), limited (held back by the rate to one host), error (refused by the system), " +
			"unmatched (acknowledgements of nothing known).",
	}, []string{"outcome"})
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "rollcall_push_clients_dropped_total",
		Help: "Clients whose subscriptions were dropped because they acknowledged nothing.",
	})
	subscriptions := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rollcall_push_subscriptions",
		Help: "Subscriptions: one per client socket, service and cluster list.",
	}, func() float64 { s.mu.Lock(); defer s.mu.Unlock(); return float64(s.table.alive.len()) })
	pending := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rollcall_push_pending",
		Help: "Datagrams that were sent and are not acknowledged yet.",
	}, func() float64 { s.mu.Lock(); defer s.mu.Unlock(); return float64(len(s.pending)) })
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rollcall_push_held",
		Help: "Datagrams that wait for the rate to one host to allow them.",
	}, func() float64 { s.mu.Lock(); defer s.mu.Unlock(); return float64(s.waiting) })
	delay := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "rollcall_push_delay_seconds",
		Help: "Time from a change of a service to the first datagram of the round that sends it. " +
			"It has the pause in which further changes are gathered.",
		// That pause is 500 ms by default; what takes clearly longer is late.
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, .75, 1, 2.5, 5, 10},
	})
	if r != nil {
		for _, c := range []prometheus.Collector{datagrams, dropped, subscriptions, pending, held, delay} {
			if err := r.Register(c); err != nil {
				return nil, fmt.Errorf("register the push metrics: %w", err)
			}
		}
	}
	return &metrics{
		sent:      datagrams.WithLabelValues("sent"),
		retried:   datagrams.WithLabelValues("retried"),
		acked:     datagrams.WithLabelValues("acked"),
		failed:    datagrams.WithLabelValues("failed"),
		tooLarge:  datagrams.WithLabelValues("too_large"),
		limited:   datagrams.WithLabelValues("limited"),
		errors:    datagrams.WithLabelValues("error"),
		unmatched: datagrams.WithLabelValues("unmatched"),
		dropped:   dropped,
		delay:     delay,
	}, nil
}
