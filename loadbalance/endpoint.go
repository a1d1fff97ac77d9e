package loadbalance

import (
	"errors"
	"net"
	"strings"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/registry"
)

// endpoint is what the balancer remembers of one instance for as long as it is
// in the list, whatever changes about it.
type endpoint struct {
	Load
	state *state
	// host is what a URL to the instance holds.
	host string
	// id is what names the instance to others: the registry's id, or its address.
	id     string
	ip     string
	port   int
	joined int64 // when it was first seen, by the balancer's clock; 0 in the first list
	trips  circuit
	probed atomic.Int32 // the last verdict of the probes
	gone   atomic.Bool  // it is no longer in the list
	done   func(Outcome)
}

func newEndpoint(s *state, i *registry.Instance) *endpoint {
	e := &endpoint{state: s, host: hostOf(i), id: instanceID(i), ip: i.IP, port: i.Port}
	e.done = e.end // bound once, so that a pick allocates nothing
	return e
}

// end takes in the outcome of a call.
func (e *endpoint) end(o Outcome) {
	if errors.Is(o.Err, ErrNotUsed) {
		e.active.Add(-1)
		return
	}
	set := e.state.view.Load().settings
	if set.learns {
		e.Load.end(o, e.state.balancer.now())
	} else {
		e.active.Add(-1)
	}
	if set.outlier != nil && !o.CallerLeft {
		e.trips.end(e, set.outlier, o.Err)
	}
}

// hostOf returns host and port of a URL to the instance, without a port where
// the scheme's own is meant.
func hostOf(i *registry.Instance) string {
	if i.Port > 0 {
		return i.Address()
	}
	// Only the brackets of IPv6 remain to be kept.
	return strings.TrimSuffix(net.JoinHostPort(strings.Trim(i.IP, "[]"), ""), ":")
}

// instanceID returns the registry's id of an instance, or its address where there
// is none.
func instanceID(i *registry.Instance) string {
	if i.ID != "" {
		return i.ID
	}
	return i.Address()
}
