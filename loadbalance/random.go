package loadbalance

import "github.com/rollcall-go/rollcall/registry"

// Random gives every instance the same chance, whatever its weight. A nil rand
// is math/rand/v2's.
func Random(rand Rand) Policy { return randomPolicy{orDefault(rand)} }

type randomPolicy struct{ rand Rand }

func (randomPolicy) Name() string { return PolicyRandom }

func (p randomPolicy) Build(instances []*registry.Instance) Picker {
	if len(instances) == 0 {
		return none{}
	}
	return &randomPicker{rand: p.rand, instances: instances}
}

type randomPicker struct {
	rand      Rand
	instances []*registry.Instance
}

func (p *randomPicker) Pick(r *Request) (Result, error) {
	if len(r.Tried) > 0 {
		if i := p.pickUntried(r); i != nil {
			return Result{Instance: i}, nil
		}
	}
	return Result{Instance: p.instances[p.rand.below(len(p.instances))]}, nil
}

// pickUntried chooses among the untried ones alone; nil when there are none.
func (p *randomPicker) pickUntried(r *Request) *registry.Instance {
	var chosen *registry.Instance
	untried := 0
	for _, i := range p.instances {
		if r.wasTried(i) {
			continue
		}
		// The n-th replaces the choice with chance 1/n, so all have the same.
		untried++
		if p.rand.below(untried) == 0 {
			chosen = i
		}
	}
	return chosen
}
