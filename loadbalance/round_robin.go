package loadbalance

import (
	"math"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/registry"
)

// RoundRobin takes the instances in turn, whatever their weight. Each list
// starts at a random place, so that many callers that start together do not all
// begin with the same instance. A nil rand is math/rand/v2's.
func RoundRobin(rand Rand) Policy { return roundRobinPolicy{orDefault(rand)} }

type roundRobinPolicy struct{ rand Rand }

func (roundRobinPolicy) Name() string { return PolicyRoundRobin }

func (p roundRobinPolicy) Build(instances []*registry.Instance) Picker {
	if len(instances) == 0 {
		return none{}
	}
	picker := &roundRobinPicker{instances: instances}
	picker.next.Store(uint64(p.rand.below(math.MaxInt32)))
	return picker
}

type roundRobinPicker struct {
	next      atomic.Uint64
	instances []*registry.Instance
}

func (p *roundRobinPicker) Pick(r *Request) (Result, error) {
	n := uint64(len(p.instances))
	turn := p.next.Add(1)
	chosen := p.instances[turn%n]
	if len(r.Tried) > 0 {
		for step := range n {
			if i := p.instances[(turn+step)%n]; !r.wasTried(i) {
				return Result{Instance: i}, nil
			}
		}
	}
	return Result{Instance: chosen}, nil
}
