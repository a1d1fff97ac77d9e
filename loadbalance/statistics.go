package loadbalance

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/registry"
)

// Labels of the metrics, named as Spring's meters are after Micrometer has
// written them for Prometheus (client rule D-R10).
const (
	labelService  = "serviceId"
	labelInstance = "serviceInstance_instanceId"
	labelHost     = "serviceInstance_host"
	labelPort     = "serviceInstance_port"
)

// unknown is the value of a label that has none, noException that of the label
// exception where there was none.
const unknown = "UNKNOWN"

// statistics are the metrics of calls. What they hold of an instance leaves with
// it.
type statistics struct {
	registerer prometheus.Registerer

	active   activeCalls
	success  *prometheus.HistogramVec
	failed   *prometheus.HistogramVec
	discard  *prometheus.CounterVec
	failOpen *prometheus.CounterVec

	mu        sync.Mutex
	enabled   bool
	probesOn  bool
	probesErr error
}

func newStatistics(r prometheus.Registerer, services *states) *statistics {
	instance := instanceLabels
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.DefBuckets},
			append(instance[:len(instance):len(instance)], labels...))
	}
	return &statistics{
		registerer: r,
		active:     activeCalls{services, prometheus.NewDesc("loadbalancer_requests_active", "Calls under way, by instance.", instance, nil)},
		success: histogram("loadbalancer_requests_success_seconds",
			"Time of calls that got a response, whatever it says.", "method", "uri", "outcome", "status"),
		failed: histogram("loadbalancer_requests_failed_seconds",
			"Time of calls that got no response, by kind of error (connect, timeout, canceled, io).", "method", "uri", "exception"),
		discard: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loadbalancer_requests_discard_total", Help: "Calls for which no instance was chosen.",
		}, []string{"method", "uri", labelService}),
		failOpen: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loadbalancer_health_check_fail_open_total", Help: "How often all instances were used because none answered its health check.",
		}, []string{labelService}),
	}
}

// activeCalls shows what the balancer counts anyway.
type activeCalls struct {
	services *states
	desc     *prometheus.Desc
}

func (a activeCalls) Describe(descs chan<- *prometheus.Desc) { descs <- a.desc }

func (a activeCalls) Collect(metrics chan<- prometheus.Metric) {
	// Two instances may have the same labels, such as those of one address in two
	// groups; a series that is there twice would make everything unreadable.
	active := map[seriesKey]int64{}
	for s := range a.services.all() {
		s.mu.Lock()
		for _, e := range s.endpoints {
			active[seriesKey(e.labels())] += e.Active()
		}
		s.mu.Unlock()
	}
	for key, n := range active {
		metrics <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, float64(n), key[:]...)
	}
}

// seriesKey holds the values of instanceLabels.
type seriesKey [4]string

// enable registers the metrics of calls. Without a registerer it does nothing.
func (s *statistics) enable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registerer == nil || s.enabled {
		return nil
	}
	collectors := []prometheus.Collector{s.active, s.success, s.failed, s.discard}
	for n, c := range collectors {
		if err := s.registerer.Register(c); err != nil {
			for _, done := range collectors[:n] {
				s.registerer.Unregister(done)
			}
			return err
		}
	}
	s.enabled = true
	return nil
}

// disable takes the metrics of calls back.
func (s *statistics) disable() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.enabled {
		return
	}
	s.enabled = false
	for _, c := range []prometheus.Collector{s.active, s.success, s.failed, s.discard} {
		s.registerer.Unregister(c)
	}
	s.success.Reset()
	s.failed.Reset()
	s.discard.Reset()
}

// failedOpen counts; its metric appears with its first event.
func (s *statistics) failedOpen(id registry.ServiceID) {
	s.mu.Lock()
	if s.registerer != nil && !s.probesOn && s.probesErr == nil {
		s.probesErr = s.registerer.Register(s.failOpen)
		s.probesOn = s.probesErr == nil
	}
	s.mu.Unlock()
	s.failOpen.WithLabelValues(label(id.Name)).Inc()
}

func (s *statistics) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.probesOn {
		s.registerer.Unregister(s.failOpen)
		s.probesOn = false
	}
}

// forget removes the series of an instance that left.
func (s *statistics) forget(e *endpoint) {
	e.gone.Store(true)
	labels := prometheus.Labels{}
	for n, value := range e.labels() {
		labels[instanceLabels[n]] = value
	}
	s.success.DeletePartialMatch(labels)
	s.failed.DeletePartialMatch(labels)
}

// forgetService removes those of a service that is called no more.
func (s *statistics) forgetService(id registry.ServiceID) {
	s.discard.DeletePartialMatch(prometheus.Labels{labelService: label(id.Name)})
	s.failOpen.DeletePartialMatch(prometheus.Labels{labelService: label(id.Name)})
}

var instanceLabels = []string{labelService, labelInstance, labelHost, labelPort}

// labels are the values of instanceLabels.
func (e *endpoint) labels() []string {
	return []string{label(e.state.id.Name), label(e.id), label(e.ip), strconv.Itoa(e.port)}
}

// label returns a text as the value of a label, which must be UTF-8 or it is a
// panic. Names and paths come from outside, with anything in them.
func label(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }

// OnStart does nothing: calls under way are counted with the instances.
func (*statistics) OnStart(*Request) {}

// OnStartRequest does nothing either.
func (*statistics) OnStartRequest(*Request, *registry.Instance) {}

// OnComplete measures the call.
func (s *statistics) OnComplete(c Completion) {
	method := methodOf(c.Request.Method)
	e := c.endpoint
	if e == nil || c.Status == StatusDiscard {
		service := label(c.Request.Service.Name)
		if errors.Is(c.Outcome.Err, errTooManyUnknown) {
			service = unknown // names from outside are not worth a series each
		}
		s.discard.WithLabelValues(method, unknown, service).Inc()
		return
	}
	uri := unknown
	if v := e.state.view.Load(); v != nil && v.settings.properties.Stats.IncludePath && c.Request.URL != nil {
		uri = label(c.Request.URL.Path)
	}
	if c.Status == StatusFailed {
		s.failed.WithLabelValues(append(e.labels(), method, uri, exceptionOf(c.Outcome.Err))...).Observe(c.Elapsed.Seconds())
	} else {
		status := unknown
		if c.Outcome.StatusCode > 0 {
			status = strconv.Itoa(c.Outcome.StatusCode)
		}
		s.success.WithLabelValues(append(e.labels(), method, uri, outcomeOf(c.Outcome.StatusCode), status)...).Observe(c.Elapsed.Seconds())
	}
	if e.gone.Load() {
		s.forget(e) // it left while it was called
	}
}

// methodOf keeps the label to the methods there are.
func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return unknown
}

// outcomeOf names the class of a status code as Spring's meters do.
func outcomeOf(status int) string {
	switch status / 100 {
	case 1:
		return "INFORMATIONAL"
	case 2:
		return "SUCCESS"
	case 3:
		return "REDIRECTION"
	case 4:
		return "CLIENT_ERROR"
	case 5:
		return "SERVER_ERROR"
	}
	return unknown
}

// exceptionOf names the kind of an error, so that the label has few values.
func exceptionOf(err error) string {
	switch {
	case err == nil:
		return "None"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case isTimeout(err):
		return ExceptionTimeout
	case isConnectError(err):
		return "connect"
	}
	return ExceptionIO
}
