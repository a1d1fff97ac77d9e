package loadbalance

import "github.com/rollcall-go/rollcall/registry"

// Filter narrows a list of candidates. Filters run once per list, not per call,
// so a filter depends on nothing but the list. It must not change its argument,
// and may return it.
type Filter func(candidates []*registry.Instance) []*registry.Instance

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
