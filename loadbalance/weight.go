package loadbalance

import (
	"math"
	"strconv"

	"github.com/rollcall-go/rollcall/registry"
)

// MetadataWeight is the metadata key that carries a weight where the registry
// has none of its own, as Spring's weighted stage reads it.
const MetadataWeight = "weight"

const (
	// maxWeight is the largest weight a registry accepts; it stands in for
	// infinity, as in Nacos' client.
	maxWeight = 10000
	// defaultWeight is that of a registration which says nothing about it; it
	// stands in for one that is not a number, too.
	defaultWeight = 1
)

// Weight returns the instance's weight, at most 10000; one that is not above 0
// means no traffic. The registry's counts; where that is the default of 1, the
// metadata's does, if it is a number and not negative (client rule D-R2).
func Weight(i *registry.Instance) float64 {
	if w := effectiveWeight(i.Weight); w != defaultWeight {
		return w
	}
	if text, ok := i.Metadata[MetadataWeight]; ok {
		if w, err := strconv.ParseFloat(text, 64); err == nil && w >= 0 {
			return effectiveWeight(w)
		}
	}
	return defaultWeight
}

func effectiveWeight(w float64) float64 {
	if math.IsNaN(w) {
		return defaultWeight
	}
	return min(w, maxWeight)
}
