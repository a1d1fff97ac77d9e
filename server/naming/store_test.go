package naming

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// TestStore_DoesWhatTheModelDoes runs random calls against both. Expiry is not
// part of it: the clock of the store stands still.
func TestStore_DoesWhatTheModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(Options{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		m := &model{
			services:   map[wire.ServiceKey]map[InstanceKey]*modelInstance{},
			gone:       map[wire.ServiceKey]map[InstanceKey]bool{},
			persistent: map[wire.ServiceKey]map[InstanceKey]*modelInstance{},
			infos:      map[wire.ServiceKey]ServiceInfo{},
			clusters:   map[wire.ServiceKey]map[string]int{},
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
				if _, persistent := m.persistent[k][key]; persistent && !known {
					if !result.Known || result.Interval != 5*time.Second {
						t.Fatalf("beat of a persistent instance: %+v", result)
					}
					return
				}
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
				if err := s.CheckDeleteService(k); ok != (err == nil) {
					t.Fatalf("delete: %v, want known to be %v", err, ok)
				}
				noError(s.RemoveService(k))
				m.erase(k)
				if ok {
					delete(m.gone, k)
				}
			},
			"apply": func(t *rapid.T) {
				k, r := services.Draw(t, "service"), registrations.Draw(t, "registration")
				checked, err := s.CheckPersistent(k, r, false)
				noError(err)
				id, err := s.ApplyPersistent(k, Persistent{Registration: checked})
				noError(err)
				if want := wire.InstanceID(r.IP, r.Port, r.Cluster, k.ServiceName.String()); id != want {
					t.Fatalf("id %s, want %s", id, want)
				}
				m.apply(k, r)
			},
			"remove": func(t *rapid.T) {
				k, key := services.Draw(t, "service"), keys.Draw(t, "key")
				noError(s.RemovePersistent(k, key))
				delete(m.persistent[k], key)
			},
			"probe": func(t *rapid.T) {
				k, key, healthy := services.Draw(t, "service"), keys.Draw(t, "key"), rapid.Bool().Draw(t, "healthy")
				i, ok := m.persistent[k][key]
				if got := s.SetPersistentHealth(k, key, healthy); got != (ok && i.healthy != healthy) {
					t.Fatalf("probe: changed is %v", got)
				}
				if ok {
					i.healthy = healthy
				}
			},
			"service": func(t *rapid.T) {
				k := services.Draw(t, "service")
				info := ServiceInfo{ProtectThreshold: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "threshold"), Explicit: true}
				noError(s.ApplyService(k, info))
				m.touch(k)
				m.infos[k] = info
			},
			"cluster": func(t *rapid.T) {
				k, port := services.Draw(t, "service"), rapid.IntRange(0, 3).Draw(t, "port")
				name := rapid.SampledFrom([]string{"B", "C"}).Draw(t, "cluster")
				noError(s.ApplyCluster(k, name, ClusterInfo{CheckPort: port}))
				m.touch(k)
				m.clusters[k][name] = port
			},
			"release": func(t *rapid.T) {
				k := services.Draw(t, "service")
				noError(s.ReleaseService(k))
				if _, ok := m.services[k]; ok {
					m.release(k)
				}
			},
			"restore": func(t *rapid.T) {
				state := map[wire.ServiceKey]Durable{}
				for _, name := range []string{"a", "b"} {
					if rapid.Bool().Draw(t, "restored") {
						var d Durable
						for _, r := range rapid.SliceOfNDistinct(registrations, 0, 3,
							func(r Registration) InstanceKey { return r.InstanceKey }).Draw(t, "instances") {
							d.Instances = append(d.Instances, Persistent{Registration: r})
						}
						if rapid.Bool().Draw(t, "info") {
							d.Info = &ServiceInfo{ProtectThreshold: 0.5}
						}
						state[serviceKey(name)] = d
					}
				}
				noError(s.RestoreDurable(maps.All(state)))
				for _, name := range []string{"a", "b"} {
					k := serviceKey(name)
					d, ok := state[k]
					if _, exists := m.services[k]; !exists && !ok {
						continue
					}
					_, hadInfo := m.infos[k]
					if !ok && !hadInfo && len(m.persistent[k])+len(m.clusters[k]) == 0 {
						continue // the state never had anything of it
					}
					m.touch(k)
					old := m.persistent[k]
					m.persistent[k] = map[InstanceKey]*modelInstance{}
					for _, p := range d.Instances {
						if i, ok := old[p.InstanceKey]; ok {
							m.persistent[k][p.InstanceKey] = i
						}
						m.apply(k, p.Registration)
					}
					delete(m.infos, k)
					m.clusters[k] = map[string]int{}
					if d.Info != nil {
						m.infos[k] = ServiceInfo{ProtectThreshold: 0.5, Explicit: true}
					} else {
						m.release(k)
					}
				}
			},
			"": func(t *rapid.T) {
				instances, persistent, healthy := 0, 0, 0
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
						if !i.Ephemeral {
							w, ok = m.persistent[k][i.InstanceKey]
							persistent++
						}
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
					if info := r.Service(); info.ProtectThreshold != m.infos[k].ProtectThreshold || info.Explicit != m.infos[k].Explicit {
						t.Fatalf("service %+v, want %+v", info, m.infos[k])
					}
					for _, name := range []string{"B", "C"} {
						port, set := m.clusters[k][name]
						if !set {
							port = defaultCheckPort
						}
						if got := r.ClusterInfo(name).CheckPort; got != port {
							t.Fatalf("cluster %s: port %d, want %d", name, got, port)
						}
					}
					if len(order) != len(want)+len(m.persistent[k]) || !slices.IsSortedFunc(order, InstanceKey.Compare) {
						t.Fatalf("order %v, want %d", order, len(want))
					}
				}
				if got := s.Stats(); got.Instances != instances || got.Persistent != persistent || got.Healthy != healthy || got.Services != len(m.services) {
					t.Fatalf("stats %+v, want %d instances, %d healthy, %d services", got, instances, healthy, len(m.services))
				}
			},
		})
	})
}
