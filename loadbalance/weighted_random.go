package loadbalance

import (
	"math"
	"sort"

	"github.com/rollcall-go/rollcall/registry"
)

const (
	// maxWeight is the largest weight a registry accepts; it stands in for
	// infinity, as in Nacos' client.
	maxWeight = 10000
	// weightOfNaN stands in for a weight that is not a number.
	weightOfNaN = 1
)

// WeightedRandom gives every instance a chance in proportion to its weight, as
// Nacos' client does; an instance whose weight is not above 0 gets none (client
// rule C-R3). A nil rand is math/rand/v2's.
func WeightedRandom(rand Rand) Policy { return weightedRandomPolicy{orDefault(rand)} }

type weightedRandomPolicy struct{ rand Rand }

func (weightedRandomPolicy) Name() string { return PolicyWeightedRandom }

func (p weightedRandomPolicy) Build(instances []*registry.Instance) Picker {
	picker := &weightedRandomPicker{rand: p.rand}
	for _, i := range instances {
		if w := effectiveWeight(i.Weight); w > 0 {
			picker.sum += w
			picker.instances = append(picker.instances, i)
			picker.ends = append(picker.ends, picker.sum)
		}
	}
	if len(picker.instances) == 0 {
		return none{}
	}
	return picker
}

func effectiveWeight(w float64) float64 {
	if math.IsNaN(w) {
		return weightOfNaN
	}
	return min(w, maxWeight)
}

// weightedRandomPicker lays the weights one after the other on a line; ends[i]
// is where that of instances[i] ends, sum where the line ends. A random point on
// the line belongs to the instance it falls upon.
type weightedRandomPicker struct {
	rand      Rand
	instances []*registry.Instance
	ends      []float64
	sum       float64
}

func (p *weightedRandomPicker) Pick(r *Request) (Result, error) {
	if len(r.Tried) > 0 {
		if i := p.pickUntried(r); i != nil {
			return Result{Instance: i}, nil
		}
	}
	point := p.rand() * p.sum
	at := sort.Search(len(p.ends), func(i int) bool { return p.ends[i] > point })
	// Rounding may put the point on the very end of the line.
	return Result{Instance: p.instances[min(at, len(p.instances)-1)]}, nil
}

// pickUntried chooses among the untried ones alone; nil when there are none.
func (p *weightedRandomPicker) pickUntried(r *Request) *registry.Instance {
	sum := 0.0
	for _, i := range p.instances {
		if !r.wasTried(i) {
			sum += effectiveWeight(i.Weight)
		}
	}
	point := p.rand() * sum
	var last *registry.Instance
	for _, i := range p.instances {
		if r.wasTried(i) {
			continue
		}
		last = i
		if point -= effectiveWeight(i.Weight); point < 0 {
			break
		}
	}
	return last
}
