package naming

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// model is the store as one would write it without readers, peers and time: a
// map of maps, with what an operator set beside what the client registered.
type model struct {
	services map[wire.ServiceKey]map[InstanceKey]*modelInstance
	gone     map[wire.ServiceKey]map[InstanceKey]bool
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
	if m.services[k] == nil {
		m.services[k] = map[InstanceKey]*modelInstance{}
	}
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

// TestStore_DoesWhatTheModelDoes runs random calls against both. Expiry is not
// part of it: the clock of the store stands still.
func TestStore_DoesWhatTheModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(Options{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		m := &model{
			services: map[wire.ServiceKey]map[InstanceKey]*modelInstance{},
			gone:     map[wire.ServiceKey]map[InstanceKey]bool{},
		}
		services := rapid.Map(rapid.SampledFrom([]string{"a", "b"}), serviceKey)
		keys := rapid.Custom(func(t *rapid.T) InstanceKey {
			return InstanceKey{
				Cluster: rapid.SampledFrom([]string{"DEFAULT", "B"}).Draw(t, "cluster"),
				IP:      rapid.SampledFrom([]string{"192.0.2.1", "2001:db8::1"}).Draw(t, "ip"),
				Port:    rapid.IntRange(0, 2).Draw(t, "port"),
			}
		})
		registrations := rapid.Custom(func(t *rapid.T) Registration {
			v := wants.Draw(t, "values")
			return Registration{
				InstanceKey: keys.Draw(t, "key"), Weight: v.weight, Enabled: v.enabled,
				Healthy: rapid.Bool().Draw(t, "healthy"), Metadata: v.metadata,
			}
		})
		noError := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				k, r := services.Draw(t, "service"), registrations.Draw(t, "registration")
				noError(s.Register(k, r))
				m.register(k, r)
			},
			"update": func(t *rapid.T) {
				k, r := services.Draw(t, "service"), registrations.Draw(t, "registration")
				given := Given{
					Weight: rapid.Bool().Draw(t, "weight"), Enabled: rapid.Bool().Draw(t, "enabled"),
					Metadata: rapid.Bool().Draw(t, "metadata"), App: rapid.Bool().Draw(t, "app"),
				}
				noError(s.Update(k, r, given, false))
				if i, ok := m.services[k][r.InstanceKey]; ok {
					want := r.values()
					if !given.Weight {
						i.registered.weight = want.weight
					}
					if !given.Enabled {
						i.registered.enabled = want.enabled
					}
					if !given.Metadata {
						i.registered.metadata = want.metadata
					}
					m.operate(i, want)
				} else {
					m.register(k, r)
				}
			},
			"patch": func(t *rapid.T) {
				k, r := services.Draw(t, "service"), registrations.Draw(t, "registration")
				err := s.Patch(k, r.InstanceKey, Patch{Weight: &r.Weight, Healthy: &r.Healthy})
				i, ok := m.services[k][r.InstanceKey]
				if ok != (err == nil) {
					t.Fatalf("patch: %v, want known to be %v", err, ok)
				}
				if ok {
					want := m.see(i)
					want.weight = r.Weight
					m.operate(i, want)
					i.healthy = r.Healthy
				}
			},
			"metadata": func(t *rapid.T) {
				k, set := services.Draw(t, "service"), metadatas.Draw(t, "set")
				updated := s.PatchMetadata(k, nil, set, []string{"m"})
				if len(updated) != len(m.services[k]) {
					t.Fatalf("%d instances, want %d", len(updated), len(m.services[k]))
				}
				for _, i := range m.services[k] {
					want := m.see(i)
					maps.Copy(want.metadata, set)
					delete(want.metadata, "m")
					m.operate(i, want)
				}
			},
			"deregister": func(t *rapid.T) {
				k, key := services.Draw(t, "service"), keys.Draw(t, "key")
				noError(s.Deregister(k, key))
				if _, ok := m.services[k][key]; ok {
					delete(m.services[k], key)
					if m.gone[k] == nil {
						m.gone[k] = map[InstanceKey]bool{}
					}
					m.gone[k][key] = true
				}
			},
			"beat": func(t *rapid.T) {
				k, key := services.Draw(t, "service"), keys.Draw(t, "key")
				var full *wire.Beat
				if rapid.Bool().Draw(t, "full") {
					full = &wire.Beat{Weight: 2, Metadata: map[string]string{"k": "beat"}}
				}
				result, err := s.Beat(k, key, full)
				noError(err)
				i, known := m.services[k][key]
				if !known && full != nil && !m.gone[k][key] {
					m.register(k, Registration{InstanceKey: key, Weight: 2, Enabled: true, Healthy: true, Metadata: full.Metadata})
					i, known = m.services[k][key]
				}
				if known {
					i.healthy = true
				}
				if result.Known != known || result.Interval != 5*time.Second {
					t.Fatalf("beat: %+v, want known to be %v", result, known)
				}
			},
			"delete": func(t *rapid.T) {
				k := services.Draw(t, "service")
				_, ok := m.services[k]
				if err := s.DeleteService(k); ok != (err == nil) {
					t.Fatalf("delete: %v, want known to be %v", err, ok)
				}
				delete(m.services, k)
				if ok {
					delete(m.gone, k)
				}
			},
			"": func(t *rapid.T) {
				instances, healthy := 0, 0
				for _, name := range []string{"a", "b"} {
					k := serviceKey(name)
					r, ok := s.Lookup(k)
					want, exists := m.services[k]
					if ok != exists {
						t.Fatalf("service %s: %v, want %v", name, ok, exists)
					}
					if !ok {
						continue
					}
					var order []InstanceKey
					for i := range r.All() {
						order = append(order, i.InstanceKey)
						w, ok := want[i.InstanceKey]
						if !ok {
							t.Fatalf("%v should not be there", i.InstanceKey)
						}
						v := m.see(w)
						if i.Weight != v.weight || i.Enabled != v.enabled || i.Healthy != w.healthy || !maps.Equal(i.Metadata, v.metadata) {
							t.Fatalf("%+v, want %+v, healthy %v", i.values(), v, w.healthy)
						}
						if i.Healthy {
							healthy++
						}
						instances++
					}
					if len(order) != len(want) || !slices.IsSortedFunc(order, InstanceKey.Compare) {
						t.Fatalf("order %v, want %d", order, len(want))
					}
				}
				if got := s.Stats(); got.Instances != instances || got.Healthy != healthy || got.Services != len(m.services) {
					t.Fatalf("stats %+v, want %d instances, %d healthy, %d services", got, instances, healthy, len(m.services))
				}
			},
		})
	})
}
