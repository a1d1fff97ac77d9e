package loadbalance

import "strconv"

// weightedStage repeats each instance as often as its metadata says, spread
// evenly, so that a policy which knows no weights honours them: Spring's weighted
// list. Only whole numbers above 0 count, anything else is 1; the registry's
// weight is not looked at here beyond 0, which never got this far.
func weightedStage() Stage {
	return Stage{name: StageWeighted, rank: rankExpanded, list: func(_ *builder, s stock) []Candidate {
		weights := make([]float64, len(s.candidates))
		for n := range s.candidates {
			c := &s.candidates[n]
			weight, err := strconv.Atoi(c.Instance.Metadata[MetadataWeight])
			if err != nil || weight < 1 {
				weight = 1
			}
			weights[n] = float64(min(weight, maxWeight)) * c.Ramp
		}
		turns := schedule(weights)
		expanded := make([]Candidate, len(turns))
		for n, at := range turns {
			expanded[n] = s.candidates[at]
			expanded[n].Weight, expanded[n].Ramp = 1, 1 // they are in the number of places now
		}
		return expanded
	}}
}
