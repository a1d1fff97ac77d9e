package loadbalance

import "github.com/rollcall-go/rollcall/registry"

// Random gives every instance the same chance, whatever its weight. A nil rand
// is math/rand/v2's.
func Random(rand Rand) Policy { return randomPolicy{orDefault(rand)} }

type randomPolicy struct{ rand Rand }

func (randomPolicy) Name() string { return PolicyRandom }

func (p randomPolicy) Build(instances []*registry.Instance) Picker {
	return p.BuildCandidates(asCandidates(instances))
}

func (p randomPolicy) BuildCandidates(candidates []Candidate) Picker {
	return newWeightedRandomPicker(p.rand, candidates, func(c *Candidate) float64 { return c.Ramp })
}

type randomPicker struct {
	rand       Rand
	candidates []Candidate
}

func (p *randomPicker) Pick(r *Request) (Result, error) {
	if len(r.Tried) > 0 {
		if c := p.pickUntried(r); c != nil {
			return c.result(), nil
		}
	}
	return p.candidates[p.rand.below(len(p.candidates))].result(), nil
}

// pickUntried chooses among the untried ones alone; nil when there are none.
func (p *randomPicker) pickUntried(r *Request) *Candidate {
	var chosen *Candidate
	untried := 0
	for n := range p.candidates {
		if r.wasTried(p.candidates[n].Instance) {
			continue
		}
		// The n-th replaces the choice with chance 1/n, so all have the same.
		untried++
		if p.rand.below(untried) == 0 {
			chosen = &p.candidates[n]
		}
	}
	return chosen
}
