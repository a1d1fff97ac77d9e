package loadbalance

import "github.com/rollcall-go/rollcall/registry"

// Filter narrows a list of candidates. Filters run once per list, not per call,
// so a filter depends on nothing but the list. It must not change its argument,
// and may return it.
type Filter func(candidates []*registry.Instance) []*registry.Instance

// Chain applies filters one after the other.
func Chain(filters ...Filter) Filter {
	return func(candidates []*registry.Instance) []*registry.Instance {
		for _, f := range filters {
			candidates = f(candidates)
		}
		return candidates
	}
}

// Usable keeps the instances that may get traffic: healthy, enabled, with a
// weight above 0, which is what Nacos' client selects. A weight that is not a
// number counts as 1.
func Usable() Filter {
	return Where(func(i *registry.Instance) bool { return i.Healthy && acceptsTraffic(i) })
}

// UsableElseUnhealthy is [Usable], but keeps unhealthy instances when there are
// no healthy ones (client rule D-R15): an instance that may be dead instead of
// an error. Disabled ones and those without weight stay out.
func UsableElseUnhealthy() Filter {
	unhealthyToo := Where(acceptsTraffic)
	return func(candidates []*registry.Instance) []*registry.Instance {
		if usable := Usable()(candidates); len(usable) > 0 {
			return usable
		}
		return unhealthyToo(candidates)
	}
}

// PreferCluster keeps the instances in the named cluster when there are any, and
// otherwise all, as Spring Cloud Alibaba's balancer does.
func PreferCluster(cluster string) Filter {
	inCluster := Where(func(i *registry.Instance) bool { return i.Cluster == cluster })
	return func(candidates []*registry.Instance) []*registry.Instance {
		if near := inCluster(candidates); len(near) > 0 {
			return near
		}
		return candidates
	}
}

// Where keeps the instances for which keep is true.
func Where(keep func(*registry.Instance) bool) Filter {
	return func(candidates []*registry.Instance) []*registry.Instance {
		kept := make([]*registry.Instance, 0, len(candidates))
		for _, i := range candidates {
			if keep(i) {
				kept = append(kept, i)
			}
		}
		return kept
	}
}

func acceptsTraffic(i *registry.Instance) bool {
	return i.Enabled && Weight(i) > 0
}
