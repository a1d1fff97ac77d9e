package naming

import (
	"maps"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// model is the store as one would write it without readers, peers and time: a
// map of maps, with what an operator set beside what the client registered.
type model struct {
	services map[wire.ServiceKey]map[InstanceKey]*modelInstance
	gone     map[wire.ServiceKey]map[InstanceKey]bool
	// What the replicated state holds.
	persistent map[wire.ServiceKey]map[InstanceKey]*modelInstance
	infos      map[wire.ServiceKey]ServiceInfo
	clusters   map[wire.ServiceKey]map[string]int // check ports
}

// touch makes a service exist.
func (m *model) touch(k wire.ServiceKey) {
	if m.services[k] == nil {
		m.services[k] = map[InstanceKey]*modelInstance{}
		m.persistent[k] = map[InstanceKey]*modelInstance{}
		m.clusters[k] = map[string]int{}
	}
}

func (m *model) erase(k wire.ServiceKey) {
	delete(m.services, k)
	delete(m.persistent, k)
	delete(m.infos, k)
	delete(m.clusters, k)
}

func (m *model) apply(k wire.ServiceKey, r Registration) {
	m.touch(k)
	i, ok := m.persistent[k][r.InstanceKey]
	if !ok {
		i = &modelInstance{healthy: r.Healthy}
		m.persistent[k][r.InstanceKey] = i
	}
	i.registered = r.values()
}

// release leaves of a service what its instances make.
func (m *model) release(k wire.ServiceKey) {
	if len(m.services[k])+len(m.persistent[k]) == 0 {
		m.erase(k)
		return
	}
	delete(m.infos, k)
	m.clusters[k] = map[string]int{}
}

type modelInstance struct {
	registered values
	operator   map[string]any
	healthy    bool
}

func (m *model) see(i *modelInstance) values {
	v := i.registered
	v.metadata = maps.Clone(v.metadata)
	if v.metadata == nil {
		v.metadata = map[string]string{}
	}
	for what, value := range i.operator {
		switch what {
		case "weight":
			v.weight = value.(float64)
		case "enabled":
			v.enabled = value.(bool)
		case "metadata":
			for key, text := range value.(map[string]*string) {
				if text == nil {
					delete(v.metadata, key)
				} else {
					v.metadata[key] = *text
				}
			}
		}
	}
	return v
}

func (m *model) register(k wire.ServiceKey, r Registration) {
	m.touch(k)
	delete(m.gone[k], r.InstanceKey)
	if old, ok := m.services[k][r.InstanceKey]; ok {
		old.registered = r.values()
		return
	}
	m.services[k][r.InstanceKey] = &modelInstance{registered: r.values(), healthy: r.Healthy, operator: map[string]any{}}
}

func (m *model) operate(i *modelInstance, want values) {
	i.operator = map[string]any{}
	if want.weight != i.registered.weight {
		i.operator["weight"] = want.weight
	}
	if want.enabled != i.registered.enabled {
		i.operator["enabled"] = want.enabled
	}
	changed := map[string]*string{}
	for key, text := range want.metadata {
		if old, ok := i.registered.metadata[key]; !ok || old != text {
			changed[key] = &text
		}
	}
	for key := range i.registered.metadata {
		if _, ok := want.metadata[key]; !ok {
			changed[key] = nil
		}
	}
	i.operator["metadata"] = changed
}
