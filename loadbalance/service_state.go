package loadbalance

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// ServiceState is a service as the balancer sees it now, for an operator.
type ServiceState struct {
	// Service is the normalised id.
	Service registry.ServiceID `json:"-"`
	// Name, Group and Namespace are its parts.
	Name      string `json:"name"`
	Group     string `json:"group"`
	Namespace string `json:"namespace"`
	// Chain names the stages in their order, Algorithm the policy after them.
	Chain     []string `json:"chain"`
	Algorithm string   `json:"algorithm"`
	// Revision is that of the list that calls go by; how old it is, discovery knows.
	Revision uint64 `json:"revision"`
	// Tracked says that calls under way are counted.
	Tracked bool `json:"tracked"`
	// Retries is how many retries the budget holds.
	Retries int64 `json:"retries"`
	// Instances are all in the list, in its order.
	Instances []InstanceState `json:"instances"`
}

// InstanceState is one instance in a [ServiceState].
type InstanceState struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	Cluster string `json:"cluster"`
	Zone    string `json:"zone"`
	Healthy bool   `json:"healthy"`
	Enabled bool   `json:"enabled"`
	// Weight is the instance's own, EffectiveWeight what it has now for a call that
	// asks for nothing special: 0 where the chain leaves it out, less than Weight
	// while it is warmed up, a multiple where the chain repeats it.
	Weight          float64 `json:"weight"`
	EffectiveWeight float64 `json:"effectiveWeight"`
	// Active counts calls under way, Latency is their average time until a response
	// began; 0 where the algorithm does not go by it.
	Active  int64         `json:"active"`
	Latency time.Duration `json:"latencyNanos"`
	// Failures counts connect errors and timeouts in a row, EjectedFor is how much
	// longer it is ejected.
	Failures   int           `json:"failures"`
	EjectedFor time.Duration `json:"ejectedForNanos"`
	// Probe is what health checks found: "up", "down", or "" when there are none.
	Probe string `json:"probe,omitempty"`
}

// State returns a service as it is now; false when nobody has called it.
func (l *LoadBalancer) State(id registry.ServiceID) (ServiceState, bool) {
	s := l.services.current.Load().get(id.Normalize())
	if s == nil {
		return ServiceState{}, false
	}
	v := s.view.Load()
	if v == nil {
		return ServiceState{}, false
	}
	return s.describe(v), true
}

// States returns all services that were called, by namespace, group and name.
func (l *LoadBalancer) States() []ServiceState {
	var all []ServiceState
	for s := range l.services.all() {
		if v := s.view.Load(); v != nil {
			all = append(all, s.describe(v))
		}
	}
	slices.SortFunc(all, func(a, b ServiceState) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func (s *state) describe(v *view) ServiceState {
	state := ServiceState{
		Service: s.id, Name: s.id.Name, Group: s.id.Group, Namespace: s.id.Namespace,
		Chain: slices.Clone(v.settings.chain), Algorithm: v.settings.policy.Name(),
		Revision: v.snapshot.Revision, Tracked: v.settings.tracked, Retries: s.budget.saved.Load() / tokens,
		Instances: make([]InstanceState, len(v.usable.known)),
	}
	weights := map[*registry.Instance]float64{}
	plain := &Request{Context: s.balancer.life, Service: s.id}
	if end, _, err := v.leaf(v.root, plain); err == nil {
		for _, c := range end.candidates {
			weights[c.Instance] += c.Weight
		}
	}
	s.mu.Lock()
	endpoints := s.endpoints
	s.mu.Unlock()
	now := s.balancer.now()
	for n, i := range v.usable.known {
		described := InstanceState{
			ID: instanceID(i), Address: i.Address(), Cluster: i.Cluster, Zone: ZoneOf(i),
			Healthy: i.Healthy, Enabled: i.Enabled, Weight: Weight(i), EffectiveWeight: weights[i],
		}
		if e := endpoints[i.Key()]; e != nil {
			described.Active, described.Latency = e.Active(), e.Latency()
			var until int64
			described.Failures, until = e.trips.look()
			described.EjectedFor = time.Duration(max(0, until-now))
			described.Probe = map[int32]string{probedUp: "up", probedDown: "down"}[e.probed.Load()]
		}
		state.Instances[n] = described
	}
	return state
}
