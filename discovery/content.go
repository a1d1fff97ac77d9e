package discovery

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/rollcall-go/rollcall/registry"
)

// arrange brings a list that was just handed over into the form of a snapshot:
// normalised, sorted, one instance per identity, its weights numbers. Two answers
// with the same content are equal afterwards, whatever order the source had them
// in.
func arrange(id registry.ServiceID, list []registry.Instance) []registry.Instance {
	for i := range list {
		list[i].Service = id
		if list[i].Cluster == "" {
			list[i].Cluster = registry.DefaultCluster
		}
		list[i].Weight = finite(list[i].Weight)
	}
	slices.SortStableFunc(list, compareIdentity)
	return slices.CompactFunc(list, func(a, b registry.Instance) bool { return compareIdentity(a, b) == 0 })
}

// maxWeight is the largest weight a registry accepts.
const maxWeight = 10000

// finite returns what a weight counts as that is no number. An old registry may
// answer with one, and no file and no answer in JSON could hold it.
func finite(weight float64) float64 {
	switch {
	case math.IsNaN(weight):
		return 1 // as for an instance that says nothing
	case math.IsInf(weight, 1):
		return maxWeight
	case math.IsInf(weight, -1):
		return 0
	}
	return weight
}

func compareIdentity(a, b registry.Instance) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.IP, b.IP), cmp.Compare(a.Port, b.Port))
}

// sameContent compares two arranged lists by everything that matters to a
// caller (client rule C-R12). Comparing needs no hash and cannot collide.
func sameContent(a, b []registry.Instance) bool {
	if len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] {
		return true
	}
	return slices.EqualFunc(a, b, func(a, b registry.Instance) bool {
		return compareIdentity(a, b) == 0 &&
			a.Healthy == b.Healthy && a.Enabled == b.Enabled &&
			a.Weight == b.Weight &&
			maps.Equal(a.Metadata, b.Metadata)
	})
}

// differences compares two arranged lists. What was added and modified is of the
// new one.
func differences(old, now []registry.Instance) (added, removed, modified []registry.Instance) {
	for len(old) > 0 || len(now) > 0 {
		var order int
		switch {
		case len(old) == 0:
			order = 1
		case len(now) == 0:
			order = -1
		default:
			order = compareIdentity(old[0], now[0])
		}
		switch {
		case order < 0:
			removed, old = append(removed, old[0]), old[1:]
		case order > 0:
			added, now = append(added, now[0]), now[1:]
		default:
			if !sameContent(old[:1], now[:1]) {
				modified = append(modified, now[0])
			}
			old, now = old[1:], now[1:]
		}
	}
	return added, removed, modified
}
