package loadbalance

import (
	"context"
	"errors"

	"github.com/rollcall-go/rollcall/registry"
)

// ErrNoInstance is wrapped by every error that says a service has no instance
// to send to. [NoInstanceError] carries the details.
var ErrNoInstance = errors.New("no instance available")

// Request is what a picker may know about the call.
type Request struct {
	// Context is the call's context; never nil.
	Context context.Context
	// Service is the normalised id called.
	Service registry.ServiceID
	// Tried holds the instances that earlier attempts of this call used; a picker
	// avoids them while it has others. Nil on the first attempt.
	Tried []*registry.Instance
}

// Outcome is how a call ended, for pickers that learn from it.
type Outcome struct {
	// Err is the transport's error, nil when a response arrived.
	Err error
	// StatusCode is the HTTP status, 0 where there is none.
	StatusCode int
}

// Result is a picked instance.
type Result struct {
	// Instance points into an immutable snapshot; it must not be changed.
	Instance *registry.Instance
	// Done is called exactly once when the call has ended; nil when the picker
	// does not want to know.
	Done func(Outcome)
}

// Picker chooses among the instances it was built for. It is immutable but for
// counters, safe for concurrent use, does not block and does not allocate
// (client rule D-R14).
type Picker interface {
	// Pick returns [ErrNoInstance] when it has nothing to choose from.
	Pick(r *Request) (Result, error)
}

// Policy builds a [Picker] for each new list of candidates.
type Policy interface {
	// Name is the configuration's word for the policy, such as "round-robin".
	Name() string
	// Build returns a picker over the instances, which are immutable and shared.
	// The list may be empty.
	Build(instances []*registry.Instance) Picker
}
