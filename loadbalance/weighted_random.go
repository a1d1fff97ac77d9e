package loadbalance

import "github.com/rollcall-go/rollcall/registry"

// WeightedRandom gives every instance a chance in proportion to its weight, as
// Nacos' client does; an instance whose weight is not above 0 gets none (client
// rule C-R3). A nil rand is math/rand/v2's.
func WeightedRandom(rand Rand) Policy { return weightedRandomPolicy{orDefault(rand)} }

type weightedRandomPolicy struct{ rand Rand }

func (weightedRandomPolicy) Name() string { return PolicyWeightedRandom }

func (p weightedRandomPolicy) Build(instances []*registry.Instance) Picker {
	return p.BuildCandidates(asCandidates(instances))
}

func (p weightedRandomPolicy) BuildCandidates(candidates []Candidate) Picker {
	return newWeightedRandomPicker(p.rand, candidates, func(c *Candidate) float64 { return c.Weight })
}

func newWeightedRandomPicker(rand Rand, candidates []Candidate, weight func(*Candidate) float64) Picker {
	picker := &weightedRandomPicker{rand: rand}
	equal := true
	for n := range candidates {
		w := weight(&candidates[n])
		if !(w > 0) {
			continue
		}
		picker.sum += w
		picker.candidates = append(picker.candidates, candidates[n])
		picker.ends = append(picker.ends, picker.sum)
		equal = equal && w == picker.ends[0]
	}
	switch {
	case len(picker.candidates) == 0:
		return none{}
	case equal:
		// The usual case needs no search.
		return &randomPicker{rand: rand, candidates: picker.candidates}
	}
	return picker
}

// weightedRandomPicker lays the weights one after the other on a line; ends[i]
// is where that of candidates[i] ends, sum where the line ends. A random point
// on the line belongs to the instance it falls upon.
type weightedRandomPicker struct {
	rand       Rand
	candidates []Candidate
	ends       []float64
	sum        float64
}

func (p *weightedRandomPicker) Pick(r *Request) (Result, error) {
	if len(r.Tried) > 0 {
		if c := p.pickUntried(r); c != nil {
			return c.result(), nil
		}
	}
	return p.candidates[p.at(p.rand()*p.sum)].result(), nil
}

// at returns the index of the candidate that a point belongs to.
func (p *weightedRandomPicker) at(point float64) int {
	low, high := 0, len(p.ends)-1 // rounding may put the point on the very end of the line
	for low < high {
		middle := int(uint(low+high) >> 1)
		if p.ends[middle] > point {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

func (p *weightedRandomPicker) weight(n int) float64 {
	if n == 0 {
		return p.ends[0]
	}
	return p.ends[n] - p.ends[n-1]
}

// pickUntried chooses among the untried ones alone; nil when there are none.
func (p *weightedRandomPicker) pickUntried(r *Request) *Candidate {
	sum := 0.0
	for n := range p.candidates {
		if !r.wasTried(p.candidates[n].Instance) {
			sum += p.weight(n)
		}
	}
	point := p.rand() * sum
	var last *Candidate
	for n := range p.candidates {
		if r.wasTried(p.candidates[n].Instance) {
			continue
		}
		last = &p.candidates[n]
		if point -= p.weight(n); point < 0 {
			break
		}
	}
	return last
}
