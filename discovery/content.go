package discovery

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/rollcall-go/rollcall/registry"
)

// arrange brings a list that was just handed over into the form of a snapshot:
// normalised, sorted, one instance per identity. Two answers with the same
// content are equal afterwards, whatever order the source had them in.
func arrange(id registry.ServiceID, list []registry.Instance) []registry.Instance {
	for i := range list {
		list[i].Service = id
		if list[i].Cluster == "" {
			list[i].Cluster = registry.DefaultCluster
		}
	}
	slices.SortStableFunc(list, compareIdentity)
	return slices.CompactFunc(list, func(a, b registry.Instance) bool { return compareIdentity(a, b) == 0 })
}

func compareIdentity(a, b registry.Instance) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.IP, b.IP), cmp.Compare(a.Port, b.Port))
}

// sameContent compares two arranged lists by everything that matters to a
// caller (client rule C-R12). Comparing needs no hash and cannot collide.
func sameContent(a, b []registry.Instance) bool {
	return slices.EqualFunc(a, b, func(a, b registry.Instance) bool {
		return compareIdentity(a, b) == 0 &&
			a.Healthy == b.Healthy && a.Enabled == b.Enabled &&
			// By bits, or a NaN would be a change with every answer.
			math.Float64bits(a.Weight) == math.Float64bits(b.Weight) &&
			maps.Equal(a.Metadata, b.Metadata)
	})
}
