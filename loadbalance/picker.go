package loadbalance

import (
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// ErrNoInstance is wrapped by every error that says a service has no instance
// to send to. [NoInstanceError] carries the details.
var ErrNoInstance = errors.New("no instance available")

// Outcome is how a call ended, for those that learn from it.
type Outcome struct {
	// Err is the transport's error, nil when a response arrived.
	Err error
	// StatusCode is the HTTP status, 0 where there is none.
	StatusCode int
	// Latency is the time until the response began, 0 when it was not measured.
	Latency time.Duration
	// CallerLeft says that the call's own context had ended when Err came: the
	// error is no evidence against the instance.
	CallerLeft bool
}

// Result is a picked instance.
type Result struct {
	// Instance points into an immutable snapshot; it must not be changed.
	Instance *registry.Instance
	// Done is called exactly once when the call has ended; nil when nobody wants
	// to know.
	Done func(Outcome)

	// endpoint is what the balancer remembers of the instance; nil outside of one.
	endpoint *endpoint
	// settings are those the instance was chosen by; nil outside of a balancer.
	settings *settings
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

// CandidatePolicy is a [Policy] that also wants to know what the balancer knows
// of the instances. All policies of this package are.
type CandidatePolicy interface {
	Policy
	// BuildCandidates is Build with that knowledge. An instance may stand in the
	// list more than once, and then counts so often.
	BuildCandidates(candidates []Candidate) Picker
}

// Candidate is an instance that a policy may choose.
type Candidate struct {
	// Instance is immutable and shared.
	Instance *registry.Instance
	// Weight is its share of the traffic relative to the others, above 0: what
	// [Weight] says of the instance, times Ramp.
	Weight float64
	// Ramp is above 0 and below 1 while a new instance is being warmed up (client
	// rule D-R16) and 1 otherwise. Policies that go by Weight need not look at it.
	Ramp float64
	// Load is what is known of the calls to the instance; never nil.
	Load *Load

	endpoint *endpoint // nil outside of a balancer
}

func (c *Candidate) result() Result { return Result{Instance: c.Instance, endpoint: c.endpoint} }

// asCandidates returns instances as candidates of which nothing is known.
func asCandidates(instances []*registry.Instance) []Candidate {
	candidates := make([]Candidate, len(instances))
	for n, i := range instances {
		candidates[n] = Candidate{Instance: i, Weight: Weight(i), Ramp: 1, Load: new(Load)}
	}
	return candidates
}

// buildPicker builds with as much knowledge as the policy takes.
func buildPicker(p Policy, candidates []Candidate) Picker {
	if len(candidates) == 0 {
		return none{}
	}
	if p, ok := p.(CandidatePolicy); ok {
		return p.BuildCandidates(candidates)
	}
	return p.Build(instancesOf(candidates))
}

func instancesOf(candidates []Candidate) []*registry.Instance {
	instances := make([]*registry.Instance, len(candidates))
	for n := range candidates {
		instances[n] = candidates[n].Instance
	}
	return instances
}

// none picks nothing.
type none struct{}

func (none) Pick(*Request) (Result, error) { return Result{}, ErrNoInstance }

// discard ends a pick that is not called after all.
func (r Result) discard() {
	if r.Done != nil {
		r.Done(Outcome{Err: ErrNotUsed})
	}
}

// ErrNotUsed is the [Outcome].Err of a choice that was not called after all: it
// says nothing about the instance.
var ErrNotUsed = errors.New("another instance was preferred")
