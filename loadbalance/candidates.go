package loadbalance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// Discovery returns the client that the balancer chooses from.
func (l *LoadBalancer) Discovery() *discovery.Client { return l.discovery }

// Candidates returns the instances among which a call that asks for nothing
// special would be balanced now, each once and in no particular order: for
// callers that connect before they call. It chooses none of them. The instances
// are immutable and shared. Errors are those of [LoadBalancer.Choose].
func (l *LoadBalancer) Candidates(ctx context.Context, id registry.ServiceID) ([]*registry.Instance, error) {
	if l.closed.Load() {
		return nil, ErrClosed
	}
	id = id.Normalize()
	v, snapshot, err := l.look(ctx, id)
	if err != nil {
		if snapshot == nil {
			return nil, l.noList(ctx, id, err)
		}
		return nil, fmt.Errorf("candidates of %s: %w", id, err)
	}
	end, _, err := v.leaf(v.root, &Request{Context: ctx, Service: id})
	switch {
	case errors.Is(err, ErrNoInstance), err == nil && len(end.candidates) == 0:
		return nil, l.noInstance(ctx, snapshot)
	case err != nil:
		return nil, fmt.Errorf("candidates of %s: %w", id, err)
	}
	instances := make([]*registry.Instance, 0, len(end.candidates))
	seen := make(map[*registry.Instance]bool, len(end.candidates))
	for n := range end.candidates {
		// A stage may repeat an instance to give it more weight.
		if i := end.candidates[n].Instance; !seen[i] {
			seen[i] = true
			instances = append(instances, i)
		}
	}
	return slices.Clip(instances), nil
}
