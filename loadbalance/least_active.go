package loadbalance

import "github.com/rollcall-go/rollcall/registry"

// LeastActive takes the instance with the fewest calls under way relative to its
// weight; among equals each has the same chance. It looks at all instances for
// each call; [P2C] does nearly as well with two looks. A nil rand is
// math/rand/v2's.
func LeastActive(rand Rand) Policy { return leastActivePolicy{orDefault(rand)} }

type leastActivePolicy struct{ rand Rand }

func (leastActivePolicy) Name() string { return PolicyLeastActive }

func (p leastActivePolicy) Build(instances []*registry.Instance) Picker {
	candidates := asCandidates(instances)
	return newCounting(p.BuildCandidates(candidates), candidates)
}

func (p leastActivePolicy) BuildCandidates(candidates []Candidate) Picker {
	if candidates = withWeight(candidates); len(candidates) == 0 {
		return none{}
	}
	return &leastActivePicker{rand: p.rand, candidates: candidates}
}

// withWeight leaves out the candidates that are to have no traffic.
func withWeight(candidates []Candidate) []Candidate {
	kept := make([]Candidate, 0, len(candidates))
	for _, c := range candidates {
		if c.Weight > 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

type leastActivePicker struct {
	rand       Rand
	candidates []Candidate
}

func (p *leastActivePicker) Pick(r *Request) (Result, error) {
	best := p.best(r)
	if best == nil {
		best = p.best(&Request{})
	}
	return best.result(), nil
}

// best looks at everybody from a random place on, so that equals share.
func (p *leastActivePicker) best(r *Request) *Candidate {
	var best *Candidate
	least := 0.0
	start := p.rand.below(len(p.candidates))
	for _, half := range [2][]Candidate{p.candidates[start:], p.candidates[:start]} {
		for n := range half {
			c := &half[n]
			if len(r.Tried) > 0 && r.wasTried(c.Instance) {
				continue
			}
			// One more call than there are, or weights would not count among idle
			// instances.
			if cost := float64(c.Load.Active()+1) / c.Weight; best == nil || cost < least {
				best, least = c, cost
			}
		}
	}
	return best
}
