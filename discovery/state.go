package discovery

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// State is a view of the client for people, such as the actuator's.
type State struct {
	// Failover says that the operator's switch is on.
	Failover bool
	// Services are those the client keeps, sorted by id.
	Services []ServiceState
}

// ServiceState is a view of one service.
type ServiceState struct {
	// Service is the normalised id.
	Service registry.ServiceID
	// Snapshot is what callers get; nil until there is a list.
	Snapshot *Snapshot
	// Subscribers counts the listeners.
	Subscribers int
	// CacheFor is what the source asked for last, 0 where it left the pace to the
	// client.
	CacheFor time.Duration
	// NextFetch is when the sources are asked next; zero while they are being
	// asked.
	NextFetch time.Time
	// Failures counts the fetches that failed since the last success, LastError is
	// why the last one did; nil after a success.
	Failures  int
	LastError error
}

// State returns a view of everything at this moment. After Close it is empty.
func (c *Client) State() State {
	var state State
	if c.failover != nil {
		state.Failover = c.failover.on.Load()
	}
	for _, e := range *c.entries.Load() {
		e.mu.Lock()
		state.Services = append(state.Services, ServiceState{
			Service: e.id, Snapshot: e.current.Load(), Subscribers: len(e.subscriptions),
			CacheFor: e.cacheFor, NextFetch: c.polls.dueAt(e), Failures: e.failures, LastError: e.lastErr,
		})
		e.mu.Unlock()
	}
	slices.SortFunc(state.Services, func(a, b ServiceState) int { return cmp.Compare(a.Service.String(), b.Service.String()) })
	return state
}
