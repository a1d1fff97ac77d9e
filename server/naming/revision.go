package naming

import (
	"iter"
	"maps"
	"slices"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Revision is the state of one service at one moment. It is immutable, safe for
// concurrent use, and may be kept.
type Revision struct {
	key     wire.ServiceKey
	grouped string
	number  uint64
	exists  bool
	service ServiceInfo
	// clusters are those with settings of their own.
	clusters map[string]ClusterInfo
	// The two kinds of instances are two sets: one address may be in both.
	ephemeral         *ordered[InstanceKey, *Instance]
	persistent        *ordered[InstanceKey, *Instance]
	healthy           int // of the ephemeral ones
	healthyPersistent int
	// shared are the answers made from it. A revision that no reader can tell
	// from the one before has the same.
	shared *sharedAnswers
}

// Key is the service's.
func (r *Revision) Key() wire.ServiceKey { return r.key }

// GroupedName is the service's "group@@name".
func (r *Revision) GroupedName() string { return r.grouped }

// Number grows with every change that a reader can see; it is never reused in
// the life of a store, not even for a service that was deleted and came back.
func (r *Revision) Number() uint64 { return r.number }

// Service is what is known besides clusters and instances.
func (r *Revision) Service() ServiceInfo { return r.service }

// Len is the number of instances of both kinds.
func (r *Revision) Len() int { return r.ephemeral.size + r.persistent.size }

// HealthyCount is the number of really healthy instances of both kinds.
func (r *Revision) HealthyCount() int { return r.healthy + r.healthyPersistent }

// All walks the instances of both kinds in the order of [InstanceKey.Compare];
// where a key has both, the persistent one comes first.
func (r *Revision) All() iter.Seq[*Instance] {
	switch {
	case r.persistent.size == 0:
		return r.ephemeral.values()
	case r.ephemeral.size == 0:
		return r.persistent.values()
	}
	return func(yield func(*Instance) bool) {
		for _, i := range merged(r.persistent, r.ephemeral, InstanceKey{}) {
			if !yield(i) {
				return
			}
		}
	}
}

// Ephemeral walks the ephemeral instances in the order of [InstanceKey.Compare].
func (r *Revision) Ephemeral() iter.Seq[*Instance] { return r.ephemeral.values() }

// Persistent walks the persistent instances in the order of
// [InstanceKey.Compare].
func (r *Revision) Persistent() iter.Seq[*Instance] { return r.persistent.values() }

// Get returns the instance of a key in canonical form: as it stands in a
// revision, or after [wire.ParseIP] and [wire.ParseCluster]. Where there are two
// it is the persistent one, as in Nacos' look-ups.
func (r *Revision) Get(key InstanceKey) (*Instance, bool) {
	if i, ok := r.persistent.get(key); ok {
		return i, true
	}
	return r.ephemeral.get(key)
}

// Find returns the instances of a key in canonical form, which are two where the
// key was registered as both kinds; nil for a kind that is not there.
func (r *Revision) Find(key InstanceKey) (ephemeral, persistent *Instance) {
	ephemeral, _ = r.ephemeral.get(key)
	persistent, _ = r.persistent.get(key)
	return ephemeral, persistent
}

// Clusters are the names of the clusters that have instances or settings,
// sorted.
func (r *Revision) Clusters() []string {
	names := slices.Collect(clustersOf(r.ephemeral))
	if r.persistent.size == 0 && len(r.clusters) == 0 {
		return names
	}
	names = slices.AppendSeq(names, clustersOf(r.persistent))
	names = slices.AppendSeq(names, maps.Keys(r.clusters))
	slices.Sort(names)
	return slices.Compact(names)
}

// ClusterInfo is what is known of a cluster besides its instances; the defaults
// for one without settings, there or not.
func (r *Revision) ClusterInfo(name string) ClusterInfo {
	if info, ok := r.clusters[name]; ok {
		return info
	}
	return DefaultClusterInfo()
}

// Cluster walks the instances of one cluster in the order of All.
func (r *Revision) Cluster(name string) iter.Seq[*Instance] {
	return func(yield func(*Instance) bool) {
		for key, i := range merged(r.persistent, r.ephemeral, InstanceKey{Cluster: name}) {
			if key.Cluster != name || !yield(i) {
				return
			}
		}
	}
}

// hasSettings says whether the replicated state holds settings of the service or
// its clusters.
func (r *Revision) hasSettings() bool { return r.service.Explicit || len(r.clusters) > 0 }

// clustersOf walks the names of clusters, jumping from one to the next.
func clustersOf(instances *ordered[InstanceKey, *Instance]) iter.Seq[string] {
	return func(yield func(string) bool) {
		next := InstanceKey{}
		for {
			found := false
			for key := range instances.from(next) {
				if !yield(key.Cluster) {
					return
				}
				next, found = InstanceKey{Cluster: key.Cluster + "\x00"}, true
				break
			}
			if !found {
				return
			}
		}
	}
}
