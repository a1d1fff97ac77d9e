package loadbalance

import (
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// Lifecycle is told of the way of every call through a balancer, by the caller's
// goroutine; it must not block. A call that is tried again goes the way again.
type Lifecycle interface {
	// OnStart is called before an instance is chosen.
	OnStart(r *Request)
	// OnStartRequest is called when one was chosen, before the call is sent.
	OnStartRequest(r *Request, i *registry.Instance)
	// OnComplete is called when the call has ended, or when there is none.
	OnComplete(c Completion)
}

// Status is how a call ended for a [Lifecycle].
type Status string

// The statuses.
const (
	// StatusSuccess says that a response arrived, whatever it says.
	StatusSuccess Status = "SUCCESS"
	// StatusFailed says that none did.
	StatusFailed Status = "FAILED"
	// StatusDiscard says that nothing was sent: no instance was chosen, or the
	// chosen one was not used.
	StatusDiscard Status = "DISCARD"
)

// Completion is the end of a call.
type Completion struct {
	// Status is how it ended.
	Status Status
	// Request is what the balancer knew of it.
	Request *Request
	// Instance is the chosen one; nil when there is none.
	Instance *registry.Instance
	// Outcome is what became of it.
	Outcome Outcome
	// Elapsed is the time from before the choice until now.
	Elapsed time.Duration

	endpoint *endpoint
}

// watch tells lifecycles of one call. A nil one does nothing.
type watch struct {
	lifecycles []Lifecycle
	request    Request
	began      time.Time
}

func newWatch(lifecycles []Lifecycle, r Request) *watch {
	w := &watch{lifecycles: lifecycles, request: r, began: time.Now()}
	w.request.Reachable, w.request.Lost, w.request.HeaderOf = nil, nil, nil // they count for this choice alone
	for _, l := range lifecycles {
		l.OnStart(&w.request)
	}
	return w
}

func (w *watch) discarded(err error) {
	if w != nil {
		w.complete(Completion{Status: StatusDiscard, Outcome: Outcome{Err: err}})
	}
}

func (w *watch) chosen(r *Result) {
	if w == nil {
		return
	}
	for _, l := range w.lifecycles {
		l.OnStartRequest(&w.request, r.Instance)
	}
	inner, instance, e := r.Done, r.Instance, r.endpoint
	r.Done = func(o Outcome) {
		if inner != nil {
			inner(o)
		}
		c := Completion{Status: StatusSuccess, Instance: instance, Outcome: o, endpoint: e}
		switch {
		case errors.Is(o.Err, ErrNotUsed):
			c.Status = StatusDiscard
		case o.Err != nil && o.StatusCode == 0:
			c.Status = StatusFailed
		}
		w.complete(c)
	}
}

func (w *watch) complete(c Completion) {
	c.Request, c.Elapsed = &w.request, time.Since(w.began)
	for _, l := range w.lifecycles {
		l.OnComplete(c)
	}
}
