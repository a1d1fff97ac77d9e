package loadbalance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rollcall-go/rollcall/registry"
)

// TransportOptions configures a [Transport]; the zero value is the default. When
// the balancer was given [Properties], these decide for each service, and of the
// options only Transformers counts.
type TransportOptions struct {
	// Transformers change requests on their way to an instance, by their Order.
	Transformers []Transformer
	// PreserveHost sends the service's name in the Host header instead of the
	// instance's address.
	PreserveHost bool
	// DisableRetry makes one attempt per call, whatever happens.
	DisableRetry bool
	// DisableConnectRetry does not treat a connection that could not be made as
	// harmless: such a call is retried only when it is idempotent.
	DisableConnectRetry bool
	// MaxNextInstances is to how many further instances a request may be sent; 0
	// is [DefaultMaxNextInstances]. Instances that could not be connected do not
	// count, up to five in a call.
	MaxNextInstances int
}

// Transport is an [http.RoundTripper] that calls services by name:
//
//	lb://order-service/path      always
//	http://order-service/path    and https, unless the host is an IP literal,
//	                             localhost, or has a port
//	lb://GROUP@@order-service/   in another group than the balancer's own
//
// Everything else goes to the base transport untouched. The host and port are
// those of a chosen instance and the scheme is https when it says that it is
// secure; path and query stay as they are, and so does the caller's request.
// The Host header is the instance's address unless the caller set another than
// the service's name. Response.Request is the request as it was sent.
//
// A call that could not be connected goes to another instance, whatever its
// method, since nothing was sent (client rule D-R8); one that failed later does
// so only when it is idempotent and its body can be had again (client rule
// D-R7), or when the properties say more. No call is repeated once a response was
// handed out, or when its context has ended, and bodies are never buffered.
type Transport struct {
	balancer *LoadBalancer
	// base makes the connections; nil: one of bases, by the service's settings.
	base         http.RoundTripper
	transformers []Transformer
	options      callSettings // for a balancer without properties

	bases sync.Map // of BaseTransportOptions to *http.Transport
}

// NewTransport returns a transport by name over base, which makes the
// connections; nil is [NewBaseTransport] with what the balancer's properties say
// for the service, or its defaults.
func NewTransport(l *LoadBalancer, base http.RoundTripper, o TransportOptions) *Transport {
	p := DefaultProperties()
	p.PreserveHost = o.PreserveHost
	p.Retry.Enabled, p.Retry.OnConnectError = !o.DisableRetry, !o.DisableConnectRetry
	if o.MaxNextInstances > 0 {
		p.Retry.MaxNext = o.MaxNextInstances
	}
	return &Transport{balancer: l, base: base, transformers: inTransformOrder(o.Transformers), options: newCallSettings(p)}
}

// CloseIdleConnections closes those of the base transport.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	t.bases.Range(func(_, base any) bool {
		base.(*http.Transport).CloseIdleConnections()
		return true
	})
}

// baseFor returns what makes the connections of a service.
func (t *Transport) baseFor(o BaseTransportOptions) http.RoundTripper {
	if t.base != nil {
		return t.base
	}
	if base, ok := t.bases.Load(o); ok {
		return base.(*http.Transport)
	}
	// A configuration's values are few; what no service uses any more closes its
	// idle connections by itself.
	base, _ := t.bases.LoadOrStore(o, NewBaseTransport(o))
	return base.(*http.Transport)
}

// settings returns those that count for a call.
func (t *Transport) settings(chosen Result) *callSettings {
	if t.balancer.configured.Load() {
		return &chosen.settings.call
	}
	return &t.options
}

// RoundTrip sends the request as [Transport] describes. An error of a balanced
// call is a [*NoInstanceError] when there was nobody to send to, and else a
// [*CallError] that tells which instances were tried.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil {
		return t.baseFor(t.options.http).RoundTrip(req) // which has the error for it
	}
	to, balanced, err := t.balancer.target(req.URL)
	switch {
	case err != nil:
		closeBody(req)
		return nil, err
	case !balanced:
		return t.baseFor(t.direct()).RoundTrip(req)
	}
	r := t.balancer.requests.Get().(*Request)
	r.Context, r.Service, r.Method, r.Header, r.URL = req.Context(), to.id, req.Method, req.Header, req.URL
	chosen, err := t.balancer.choose(to.state, r)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	if to.state == nil {
		to.state = t.balancer.services.get(to.id)
	}
	return t.call(req, to, chosen)
}

// direct returns the common settings of connections.
func (t *Transport) direct() BaseTransportOptions {
	if !t.balancer.configured.Load() {
		return t.options.http
	}
	return t.balancer.config.Load().connections
}

// call makes the attempts, from the first chosen instance on.
func (t *Transport) call(req *http.Request, to callee, chosen Result) (*http.Response, error) {
	set, id, s := t.settings(chosen), to.id, to.state
	if s != nil && set.retry.enabled {
		s.budget.earn(set.retry.budget)
	}
	body := outgoingBody{request: req}
	defer body.settle()
	rest := body.first(set.retry.enabled)
	var tried attempts
	var underWay bool
	defer func() {
		if underWay && chosen.Done != nil {
			// A transformer or the base has panicked. Whoever recovers goes on with a
			// balancer that must not count this call for ever.
			chosen.Done(Outcome{Err: errPanicked})
		}
	}()
	for {
		underWay = true
		out := address(req, chosen, set.preserveHost)
		out.Body = rest
		out, err := t.transform(out, req, chosen, set)
		if err != nil {
			underWay = false
			if rest != nil {
				_ = rest.Close() // the call has failed for a better reason
			}
			chosen.discard()
			return nil, newCallError(id, tried.instances, err)
		}
		var began time.Time
		if chosen.Done != nil {
			began = time.Now()
		}
		resp, err := t.baseFor(set.http).RoundTrip(out)
		underWay = false
		var latency time.Duration
		if chosen.Done != nil {
			latency = time.Since(began)
		}
		if err == nil && !slices.Contains(set.retry.statusCodes, resp.StatusCode) {
			reportEnd(req.Context(), resp, chosen.Done, latency)
			return resp, nil
		}
		if err != nil && chosen.Done != nil {
			chosen.Done(Outcome{Err: err, Latency: latency, CallerLeft: req.Context().Err() != nil})
		}
		tried.add(chosen.Instance, err != nil && set.retry.connect && isConnectError(err))
		again, rest2, ok := t.again(req, id, s, &tried, chosen, &body, err)
		switch {
		case !ok && err != nil:
			return nil, newCallError(id, tried.instances, err)
		case !ok:
			reportEnd(req.Context(), resp, chosen.Done, latency)
			return resp, nil
		case err == nil:
			drop(resp)
			if chosen.Done != nil {
				chosen.Done(Outcome{StatusCode: resp.StatusCode, Latency: latency})
			}
		}
		chosen, rest = again, rest2
	}
}

// attempts are the failed ones of one call.
type attempts struct {
	instances []*registry.Instance
	unsent    int  // how many could not be connected
	places    int  // how many choices led to one that was sent
	here      int  // how many the last choice led to
	sentHere  bool // one of them was sent
	staying   bool // the next attempt is at the same instance without a choice
	harmless  bool // the last one could not be connected
	pauses    *backoff.ExponentialBackOff
}

func (a *attempts) add(i *registry.Instance, unsent bool) {
	if !a.staying {
		a.here, a.sentHere = 0, false
	}
	a.instances = append(a.instances, i)
	a.here++
	a.harmless = unsent
	switch {
	case unsent:
		a.unsent++
	case !a.sentHere:
		a.sentHere = true
		a.places++
	}
}

// again chooses the instance for another attempt and takes the body for it; false
// when there is to be none. The error of the last attempt is nil when a response
// counts as failed.
func (t *Transport) again(req *http.Request, id registry.ServiceID, s *state, tried *attempts, before Result, body *outgoingBody, err error) (Result, io.ReadCloser, bool) {
	set := t.settings(before)
	retry := &set.retry
	switch {
	case !retry.enabled, req.Context().Err() != nil, tried.unsent >= maxUnsent:
		return Result{}, nil, false
	case !tried.harmless && !retry.permits(req, err):
		return Result{}, nil, false
	}
	chosen, ok := t.next(req, id, tried, before, retry)
	if !ok {
		return Result{}, nil, false
	}
	if !tried.harmless && s != nil && !s.budget.spend(retry.budget) {
		chosen.discard()
		return Result{}, nil, false
	}
	if tried.pauses == nil {
		tried.pauses = retry.pauses()
	}
	if !retry.wait(req.Context(), tried.pauses) {
		chosen.discard()
		return Result{}, nil, false
	}
	rest, ok := body.next()
	if !ok {
		chosen.discard()
		return Result{}, nil, false
	}
	return chosen, rest, true
}

// next chooses the instance for another attempt: the same while it may be tried
// again, else another.
func (t *Transport) next(req *http.Request, id registry.ServiceID, tried *attempts, before Result, retry *retrySettings) (Result, bool) {
	r := Request{Service: id, Tried: tried.instances, Method: req.Method, Header: req.Header, URL: req.URL}
	tried.staying = !tried.harmless && tried.here <= retry.same
	if tried.staying {
		return t.balancer.chooseSame(req.Context(), r, before), true
	}
	if tried.places > retry.next {
		return Result{}, false
	}
	chosen, err := t.balancer.ChooseFor(req.Context(), r)
	if err == nil && (!chosen.settings.avoidTried || !r.wasTried(chosen.Instance)) {
		return chosen, true
	}
	if err == nil {
		chosen.discard()
	}
	// A connection that was refused is refused again, unless there is no other
	// place to go and the configuration wants to insist.
	if tried.staying = tried.harmless && tried.here <= retry.same; tried.staying {
		return t.balancer.chooseSame(req.Context(), r, before), true
	}
	return Result{}, false // the call's own error says more
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // the call has failed for a better reason
	}
}

// CallError says that a call by name failed and which instances it went to.
type CallError struct {
	// Service is the normalised id that was called.
	Service registry.ServiceID
	// Tried holds the addresses in the order of the attempts.
	Tried []string
	// Err is the error of the last attempt.
	Err error
}

func newCallError(id registry.ServiceID, tried []*registry.Instance, err error) *CallError {
	e := &CallError{Service: id.Normalize(), Err: err}
	for _, i := range tried {
		e.Tried = append(e.Tried, i.Address())
	}
	return e
}

// Error tells the service, the addresses and the cause.
func (e *CallError) Error() string {
	return fmt.Sprintf("call %s, tried %s: %v", e.Service, strings.Join(e.Tried, ", "), e.Err)
}

// Unwrap returns Err.
func (e *CallError) Unwrap() error { return e.Err }

// Timeout reports whether the last attempt timed out; net/url.Error asks for it.
func (e *CallError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.Is(e.Err, context.DeadlineExceeded) || errors.As(e.Err, &t) && t.Timeout()
}
