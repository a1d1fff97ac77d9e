package naming

import (
	"iter"
	"slices"
	"strings"
)

// Query is what a list request asks for.
type Query struct {
	// Clusters is a comma list as the client wrote it: the entries are not
	// trimmed, unknown ones contribute nothing, and none means all. The answer
	// repeats it.
	Clusters string
	// HealthyOnly leaves out what is reported unhealthy.
	HealthyOnly bool
	// Grouped puts the grouped name into dom and each host's serviceName; the
	// bare one otherwise ([wire.Agent.GroupedNames]).
	Grouped bool
	// Env is repeated in the answer.
	Env string
}

// Select returns the instances for a query and whether protection is in force:
// when healthy ÷ selected is at or below the service's threshold, disabled
// instances counted, every instance is to be reported healthy. At threshold 0
// that is so when none is healthy (server case SB-09). This is the one place
// that decides it; lists, pushes and the console all ask here.
//
// Disabled instances are left out. Unhealthy ones come first, as in Nacos;
// within both groups, and in a protected list, the order is that of
// [InstanceKey.Compare].
func (r *Revision) Select(q Query) (hosts []*Instance, protected bool) {
	total, healthy := 0, 0
	for i := range r.inClusters(q.Clusters) {
		total++
		if i.Healthy {
			healthy++
		}
	}
	if total == 0 {
		return nil, false
	}
	protected = r.protects(healthy, total)
	hosts = make([]*Instance, 0, total)
	pick := func(want func(*Instance) bool) {
		for i := range r.inClusters(q.Clusters) {
			if i.Enabled && want(i) {
				hosts = append(hosts, i)
			}
		}
	}
	if protected {
		pick(func(*Instance) bool { return true })
		return hosts, true
	}
	if !q.HealthyOnly && healthy < total {
		pick(func(i *Instance) bool { return !i.Healthy })
	}
	pick(func(i *Instance) bool { return i.Healthy })
	return hosts, false
}

// Protected says whether protection is in force for the whole service; false for
// a service without instances.
func (r *Revision) Protected() bool { return r.protects(r.HealthyCount(), r.Len()) }

func (r *Revision) protects(healthy, total int) bool {
	return total > 0 && float64(healthy)/float64(total) <= r.service.ProtectThreshold
}

// inClusters walks the instances of the named clusters, in order, each once.
func (r *Revision) inClusters(list string) iter.Seq[*Instance] {
	names := strings.FieldsFunc(list, func(c rune) bool { return c == ',' })
	if len(names) == 0 {
		return r.All()
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return func(yield func(*Instance) bool) {
		for _, name := range names {
			for i := range r.Cluster(name) {
				if !yield(i) {
					return
				}
			}
		}
	}
}
