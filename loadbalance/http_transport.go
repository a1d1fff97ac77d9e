package loadbalance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

// DefaultMaxNextInstances is how many further instances a failed call goes to
// (Spring's max-retries-on-next-service-instance).
const DefaultMaxNextInstances = 1

// maxUnsent bounds the attempts of one call that did not get as far as a
// connection. They are free of side effects and usually fast, and after a
// rolling restart or the loss of a rack several in a row are to be expected; but
// a caller should not wait for a hundred dead addresses.
const maxUnsent = 5

// TransportOptions configures a [Transport]; the zero value is the default.
type TransportOptions struct {
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
// D-R7). No call is repeated once there is a response, or when its context has
// ended, and bodies are never buffered.
type Transport struct {
	balancer *LoadBalancer
	base     http.RoundTripper
	opt      TransportOptions
}

// NewTransport returns a transport by name over base, which makes the
// connections; nil is [NewBaseTransport] with its defaults.
func NewTransport(l *LoadBalancer, base http.RoundTripper, o TransportOptions) *Transport {
	if base == nil {
		base = NewBaseTransport(BaseTransportOptions{})
	}
	if o.MaxNextInstances == 0 {
		o.MaxNextInstances = DefaultMaxNextInstances
	}
	return &Transport{balancer: l, base: base, opt: o}
}

// CloseIdleConnections closes those of the base transport.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends the request as [Transport] describes. An error of a balanced
// call is a [*NoInstanceError] when there was nobody to send to, and else a
// [*CallError] that tells which instances were tried.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil {
		return t.base.RoundTrip(req) // which has the error for it
	}
	id, balanced, err := t.balancer.target(req.URL)
	switch {
	case err != nil:
		closeBody(req)
		return nil, err
	case !balanced:
		return t.base.RoundTrip(req)
	}
	chosen, err := t.balancer.Choose(req.Context(), id)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	return t.call(req, id, chosen)
}

// call makes the attempts, from the first chosen instance on.
func (t *Transport) call(req *http.Request, id registry.ServiceID, chosen Result) (*http.Response, error) {
	body := outgoingBody{request: req}
	defer body.settle()
	out := t.address(req, chosen.Instance)
	out.Body = body.first(!t.opt.DisableRetry)
	var tried attempts
	for {
		resp, err := t.base.RoundTrip(out)
		if err == nil {
			reportEnd(resp, chosen.Done)
			return resp, nil
		}
		if chosen.Done != nil {
			chosen.Done(Outcome{Err: err})
		}
		tried.add(chosen.Instance, !t.opt.DisableConnectRetry && isConnectError(err))
		again, ok := t.next(req, id, &tried)
		if !ok {
			return nil, newCallError(id, tried.instances, err)
		}
		rest, ok := body.next()
		if !ok {
			if again.Done != nil {
				again.Done(Outcome{Err: errNotUsed})
			}
			return nil, newCallError(id, tried.instances, err)
		}
		chosen = again
		out = t.address(req, chosen.Instance)
		out.Body = rest
	}
}

// attempts are the failed ones of one call.
type attempts struct {
	instances []*registry.Instance
	unsent    int  // how many could not be connected
	harmless  bool // the last one could not
}

func (a *attempts) add(i *registry.Instance, unsent bool) {
	a.instances = append(a.instances, i)
	a.harmless = unsent
	if unsent {
		a.unsent++
	}
}

// next chooses the instance for another attempt; false when there is to be none.
func (t *Transport) next(req *http.Request, id registry.ServiceID, tried *attempts) (Result, bool) {
	sent := len(tried.instances) - tried.unsent
	switch {
	case t.opt.DisableRetry, req.Context().Err() != nil:
		return Result{}, false
	case sent > t.opt.MaxNextInstances, tried.unsent >= maxUnsent:
		return Result{}, false
	case !tried.harmless && !isIdempotent(req):
		return Result{}, false
	}
	chosen, chooseErr := t.balancer.Choose(req.Context(), id, tried.instances...)
	if chooseErr != nil {
		return Result{}, false // the call's own error says more
	}
	r := Request{Tried: tried.instances}
	if r.wasTried(chosen.Instance) {
		if chosen.Done != nil {
			chosen.Done(Outcome{Err: errNotUsed})
		}
		return Result{}, false
	}
	return chosen, true
}

// isConnectError reports whether no connection could be made, so that nothing
// was sent.
func isConnectError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// isIdempotent goes by RFC 9110, 9.2.2, and the headers by which net/http lets a
// caller vouch for others.
func isIdempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	_, vouched := req.Header["Idempotency-Key"]
	if !vouched {
		_, vouched = req.Header["X-Idempotency-Key"]
	}
	return vouched
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
