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
	return p.BuildCandidates(asCandidates(instances))
}

func (p roundRobinPolicy) BuildCandidates(candidates []Candidate) Picker {
	return newRoundRobinPicker(p.rand, candidates, func(c *Candidate) float64 { return c.Ramp })
}

// WeightedRoundRobin takes the instances in turn, each as often as its weight
// says and spread evenly over the round, not in blocks. A nil rand is
// math/rand/v2's.
func WeightedRoundRobin(rand Rand) Policy { return weightedRoundRobinPolicy{orDefault(rand)} }

type weightedRoundRobinPolicy struct{ rand Rand }

func (weightedRoundRobinPolicy) Name() string { return PolicyWeightedRoundRobin }

func (p weightedRoundRobinPolicy) Build(instances []*registry.Instance) Picker {
	return p.BuildCandidates(asCandidates(instances))
}

func (p weightedRoundRobinPolicy) BuildCandidates(candidates []Candidate) Picker {
	return newRoundRobinPicker(p.rand, candidates, func(c *Candidate) float64 { return c.Weight })
}

func newRoundRobinPicker(rand Rand, candidates []Candidate, weight func(*Candidate) float64) Picker {
	weights := make([]float64, len(candidates))
	for n := range candidates {
		weights[n] = weight(&candidates[n])
	}
	turns := schedule(weights)
	if len(turns) == 0 {
		return none{}
	}
	picker := &roundRobinPicker{candidates: candidates, turns: turns}
	picker.next.Store(uint64(rand.below(math.MaxInt32)))
	return picker
}

// roundRobinPicker goes through a round of turns that was worked out in advance,
// so that taking one is a single addition.
type roundRobinPicker struct {
	next       atomic.Uint64
	candidates []Candidate
	turns      []int32 // indexes of candidates
}

func (p *roundRobinPicker) Pick(r *Request) (Result, error) {
	n := uint64(len(p.turns))
	turn := p.next.Add(1)
	chosen := &p.candidates[p.turns[turn%n]]
	if len(r.Tried) > 0 {
		for step := range n {
			if c := &p.candidates[p.turns[(turn+step)%n]]; !r.wasTried(c.Instance) {
				return c.result(), nil
			}
		}
	}
	return chosen.result(), nil
}
