package naming

import (
	"iter"
	"slices"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Revision is the state of one service at one moment. It is immutable, safe for
// concurrent use, and may be kept.
type Revision struct {
	key       wire.ServiceKey
	grouped   string
	number    uint64
	exists    bool
	service   ServiceInfo
	instances *ordered[InstanceKey, *Instance]
	healthy   int
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

// Service is what is known besides the instances.
func (r *Revision) Service() ServiceInfo { return r.service }

// Len is the number of instances.
func (r *Revision) Len() int { return r.instances.size }

// HealthyCount is the number of really healthy instances.
func (r *Revision) HealthyCount() int { return r.healthy }

// All walks the instances in the order of [InstanceKey.Compare].
func (r *Revision) All() iter.Seq[*Instance] { return r.instances.values() }

// Get returns the instance of a key in canonical form: as it stands in a
// revision, or after [wire.ParseIP] and [wire.ParseCluster].
func (r *Revision) Get(key InstanceKey) (*Instance, bool) { return r.instances.get(key) }

// Clusters are the names of the clusters that have instances, sorted.
func (r *Revision) Clusters() []string { return slices.Collect(clustersOf(r.instances)) }

// Cluster walks the instances of one cluster.
func (r *Revision) Cluster(name string) iter.Seq[*Instance] {
	return func(yield func(*Instance) bool) {
		for key, i := range r.instances.from(InstanceKey{Cluster: name}) {
			if key.Cluster != name || !yield(i) {
				return
			}
		}
	}
}

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
