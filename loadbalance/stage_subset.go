package loadbalance

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// subsetStage keeps size instances that this caller always uses, so that not
// every caller holds connections to every instance. Each instance draws a number
// from the caller's id and its own, and the lowest are kept; so a list that
// changes by one instance changes the subset by one at most, and its order does
// not count (client rule D-R3).
func subsetStage(own string, size int) Stage {
	return Stage{name: StageSubset, rank: rankPreferred, list: func(_ *builder, s stock) []Candidate {
		if len(s.candidates) <= size {
			return s.candidates
		}
		type ticket struct {
			drawn uint64
			id    string
			at    int
		}
		caller := xxhash.Sum64String(own)
		tickets := make([]ticket, len(s.candidates))
		for n := range s.candidates {
			id := instanceID(s.candidates[n].Instance)
			tickets[n] = ticket{mix(xxhash.Sum64String(id) ^ caller), id, n}
		}
		slices.SortFunc(tickets, func(a, b ticket) int {
			return cmp.Or(cmp.Compare(a.drawn, b.drawn), cmp.Compare(a.id, b.id))
		})
		tickets = tickets[:size]
		slices.SortFunc(tickets, func(a, b ticket) int { return cmp.Compare(a.id, b.id) })
		kept := make([]Candidate, size)
		for n, t := range tickets {
			kept[n] = s.candidates[t.at]
		}
		return kept
	}}
}
