package loadbalance

import (
	"context"
	"fmt"
	"strings"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// NoInstanceError says why a service has no instance to send to, in the words
// that whoever reads the log needs. It wraps [ErrNoInstance] and Err.
type NoInstanceError struct {
	// Service is the normalised id that was called.
	Service registry.ServiceID
	// Known counts the instances in the list.
	Known int
	// Unhealthy, Disabled and Weightless say why the known ones do not count; each
	// is counted under the first that applies, disabled before weightless before
	// unhealthy.
	Unhealthy, Disabled, Weightless int
	// Filtered counts the rest: those that filters and stages left out.
	Filtered int
	// Similar holds a few names of services that do exist in that namespace and
	// group, the most similar first, when the service itself is not known.
	Similar []string
	// Services counts all services in that namespace and group; 0 when it is not
	// known.
	Services int
	// Err is why the list could not be had or is stale; nil while it is fresh.
	Err error
}

// Error tells the counts, the names and the cause.
func (e *NoInstanceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v of service %q (namespace %s, group %s)", ErrNoInstance, e.Service.Name, e.Service.Namespace, e.Service.Group)
	switch {
	case e.Known > 0:
		fmt.Fprintf(&b, ": %d known", e.Known)
		for _, why := range []struct {
			count int
			word  string
		}{{e.Unhealthy, "unhealthy"}, {e.Disabled, "disabled"}, {e.Weightless, "without weight"}, {e.Filtered, "left out by filters"}} {
			if why.count > 0 {
				fmt.Fprintf(&b, ", %d %s", why.count, why.word)
			}
		}
	case len(e.Similar) > 0:
		fmt.Fprintf(&b, ": none registered; of the %d services there, the most similar are %s",
			e.Services, strings.Join(e.Similar, ", "))
	case e.Err == nil:
		b.WriteString(": none registered")
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns [ErrNoInstance] and the cause.
func (e *NoInstanceError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrNoInstance}
	}
	return []error{ErrNoInstance, e.Err}
}

func (l *LoadBalancer) noInstance(ctx context.Context, s *discovery.Snapshot) error {
	e := &NoInstanceError{Service: s.Service, Known: len(s.Instances), Err: s.Err}
	for i := range s.Instances {
		switch i := &s.Instances[i]; {
		case !i.Enabled:
			e.Disabled++
		case !(Weight(i) > 0):
			e.Weightless++
		case !i.Healthy:
			e.Unhealthy++
		default:
			e.Filtered++
		}
	}
	if e.Known == 0 {
		e.Similar, e.Services = l.directory.similar(ctx, s.Service)
	}
	return e
}
