package loadbalance

import "github.com/rollcall-go/rollcall/registry"

// exploration is the share of picks that take the first of the two whatever is
// known of them, so that an instance which was slow once is measured again.
const exploration = 1.0 / 32

// P2C draws two instances by weight and takes the one that would probably answer
// first: the power of two choices, by calls under way times average latency. A
// nil rand is math/rand/v2's.
func P2C(rand Rand) Policy { return p2cPolicy{orDefault(rand)} }

type p2cPolicy struct{ rand Rand }

func (p2cPolicy) Name() string { return PolicyP2C }

func (p p2cPolicy) Build(instances []*registry.Instance) Picker {
	candidates := asCandidates(instances)
	return newCounting(p.BuildCandidates(candidates), candidates)
}

func (p p2cPolicy) BuildCandidates(candidates []Candidate) Picker {
	if candidates = withWeight(candidates); len(candidates) == 0 {
		return none{}
	}
	picker := &p2cPicker{line: weightedRandomPicker{rand: p.rand, candidates: candidates}}
	for n := range candidates {
		picker.line.sum += candidates[n].Weight
		picker.line.ends = append(picker.line.ends, picker.line.sum)
	}
	return picker
}

type p2cPicker struct{ line weightedRandomPicker }

func (p *p2cPicker) Pick(r *Request) (Result, error) {
	line := &p.line
	if len(r.Tried) > 0 {
		if c := line.pickUntried(r); c != nil {
			return c.result(), nil
		}
	}
	first := line.at(line.rand() * line.sum)
	if len(line.candidates) == 1 {
		return line.candidates[first].result(), nil
	}
	second := p.another(first)
	a, b := &line.candidates[first], &line.candidates[second]
	if costly(a, b) && line.rand() >= exploration {
		a = b
	}
	return a.result(), nil
}

// another draws one of the others by weight: the line without the first's part.
func (p *p2cPicker) another(first int) int {
	line := &p.line
	begin, end := line.ends[first]-line.weight(first), line.ends[first]
	point := line.rand() * (line.sum - (end - begin))
	if point >= begin {
		point += end - begin
	}
	second := line.at(point)
	if second == first { // by rounding
		second = (first + 1) % len(line.candidates)
	}
	return second
}

// costly reports whether a would probably answer later than b. Weights are not
// counted again: they decide who is drawn.
func costly(a, b *Candidate) bool {
	active, other := float64(a.Load.Active()+1), float64(b.Load.Active()+1)
	latency, otherLatency := float64(a.Load.Latency()), float64(b.Load.Latency())
	if latency == 0 || otherLatency == 0 {
		return active > other // nothing to compare yet
	}
	return active*latency > other*otherLatency
}
