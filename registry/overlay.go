package registry

import (
	"cmp"
	"maps"
)

// overlay is one layer over a registration: what somebody changed of it. Layers
// are laid over each other in the order properties, customizers, hooks, run time
// (client case 25), so that each survives a change of those below.
//
// The zero value changes nothing. Metadata is a set of single keys, so that two
// layers that set different ones do not undo each other.
type overlay struct {
	service                       *ServiceID
	ip, cluster                   *string
	port                          *int
	weight                        *float64
	healthy, enabled, isEphemeral *bool
	set                           map[string]string
	removed                       map[string]bool
}

// between returns the overlay that turns one registration into another.
func between(from, to Registration) overlay {
	o := overlay{
		service:     changed(from.Service.Normalize(), to.Service.Normalize()),
		ip:          changed(from.IP, to.IP),
		cluster:     changed(from.Cluster, to.Cluster),
		port:        changed(from.Port, to.Port),
		weight:      changed(from.Weight, to.Weight),
		healthy:     changed(from.Healthy, to.Healthy),
		enabled:     changed(from.Enabled, to.Enabled),
		isEphemeral: changed(from.Ephemeral, to.Ephemeral),
		set:         map[string]string{},
		removed:     map[string]bool{},
	}
	for key, value := range to.Metadata {
		if old, ok := from.Metadata[key]; !ok || old != value {
			o.set[key] = value
		}
	}
	for key := range from.Metadata {
		if _, ok := to.Metadata[key]; !ok {
			o.removed[key] = true
		}
	}
	return o
}

func changed[T comparable](from, to T) *T {
	if from == to {
		return nil
	}
	return &to
}

// over returns the registration with the layer laid over it. It shares nothing
// with r.
func (o overlay) over(r Registration) Registration {
	r = r.clone()
	assign(&r.Service, o.service)
	assign(&r.IP, o.ip)
	assign(&r.Cluster, o.cluster)
	assign(&r.Port, o.port)
	assign(&r.Weight, o.weight)
	assign(&r.Healthy, o.healthy)
	assign(&r.Enabled, o.enabled)
	assign(&r.Ephemeral, o.isEphemeral)
	if r.Metadata == nil && len(o.set) > 0 {
		r.Metadata = make(map[string]string, len(o.set))
	}
	maps.Copy(r.Metadata, o.set)
	maps.DeleteFunc(r.Metadata, func(key, _ string) bool { return o.removed[key] })
	return r
}

func assign[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// then returns the layer that does what o does and then what p does.
func (o overlay) then(p overlay) overlay {
	both := overlay{
		service:     cmp.Or(p.service, o.service),
		ip:          cmp.Or(p.ip, o.ip),
		cluster:     cmp.Or(p.cluster, o.cluster),
		port:        cmp.Or(p.port, o.port),
		weight:      cmp.Or(p.weight, o.weight),
		healthy:     cmp.Or(p.healthy, o.healthy),
		enabled:     cmp.Or(p.enabled, o.enabled),
		isEphemeral: cmp.Or(p.isEphemeral, o.isEphemeral),
		set:         map[string]string{},
		removed:     map[string]bool{},
	}
	maps.Copy(both.set, o.set)
	maps.Copy(both.removed, o.removed)
	for key, value := range p.set {
		both.set[key] = value
		delete(both.removed, key)
	}
	for key := range p.removed {
		both.removed[key] = true
		delete(both.set, key)
	}
	return both
}

// empty reports whether the layer changes nothing.
func (o overlay) empty() bool {
	return o.service == nil && o.ip == nil && o.cluster == nil && o.port == nil && o.weight == nil &&
		o.healthy == nil && o.enabled == nil && o.isEphemeral == nil && len(o.set) == 0 && len(o.removed) == 0
}
