package state

import (
	"iter"
	"strconv"
	"strings"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// View is the state at one moment. It is immutable and can be kept; all its
// methods are safe for concurrent use. Sequences are sorted by their keys.
type View struct {
	applied     uint64
	instances   *iradix.Tree[*Instance]
	services    *iradix.Tree[*Service]
	clusters    *iradix.Tree[*Cluster]
	namespaces  *iradix.Tree[*Namespace]
	users       *iradix.Tree[*User]
	roles       *iradix.Tree[*Role]
	permissions *iradix.Tree[*Permission]
	secrets     *iradix.Tree[*Secret]
	switches    Switches
}

func newView() *View {
	return &View{
		instances: iradix.New[*Instance](), services: iradix.New[*Service](), clusters: iradix.New[*Cluster](),
		namespaces: iradix.New[*Namespace](), users: iradix.New[*User](), roles: iradix.New[*Role](),
		permissions: iradix.New[*Permission](), secrets: iradix.New[*Secret](),
	}
}

// join makes the key of a tree: parts that are each followed by a zero byte,
// which no part has, so that no key is the beginning of another by accident.
func join(parts ...string) []byte {
	n := len(parts)
	for _, p := range parts {
		n += len(p)
	}
	key := make([]byte, 0, n)
	for _, p := range parts {
		key = append(append(key, p...), 0)
	}
	return key
}

func serviceKey(k wire.ServiceKey) []byte { return join(k.Namespace, k.Group, k.Name) }

func clusterKey(k wire.ServiceKey, cluster string) []byte {
	return join(k.Namespace, k.Group, k.Name, cluster)
}

func instanceKey(k wire.ServiceKey, i InstanceKey) []byte {
	port := strconv.Itoa(i.Port)
	return join(k.Namespace, k.Group, k.Name, i.Cluster, i.IP, "00000"[min(len(port), 5):]+port)
}

// walk goes through all values whose keys begin with a prefix.
func walk[T any](t *iradix.Tree[*T], prefix []byte) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		t.Root().WalkPrefix(prefix, func(_ []byte, v *T) bool { return !yield(v) })
	}
}

func get[T any](t *iradix.Tree[*T], key []byte) (T, bool) {
	v, ok := t.Get(key)
	if !ok {
		var none T
		return none, false
	}
	return *v, true
}

func put[T any](t **iradix.Tree[*T], key []byte, v *T) { *t, _, _ = (*t).Insert(key, v) }

func remove[T any](t **iradix.Tree[*T], key []byte) (removed bool) {
	*t, _, removed = (*t).Delete(key)
	return removed
}

func notEmpty[T any](s iter.Seq[T]) bool {
	for range s {
		return true
	}
	return false
}

// Applied is how many commands made this state, refused ones included.
func (v *View) Applied() uint64 { return v.applied }

// Instance returns a persistent instance.
func (v *View) Instance(k wire.ServiceKey, i InstanceKey) (Instance, bool) {
	return get(v.instances, instanceKey(k, i))
}

// Instances walks the persistent instances of a service.
func (v *View) Instances(k wire.ServiceKey) iter.Seq[*Instance] {
	return walk(v.instances, serviceKey(k))
}

// AllInstances walks all persistent instances, service by service.
func (v *View) AllInstances() iter.Seq[*Instance] { return walk(v.instances, nil) }

// InstanceCount is the number of all persistent instances.
func (v *View) InstanceCount() int { return v.instances.Len() }

// Service returns what was set about a service. A service can have persistent
// instances without that.
func (v *View) Service(k wire.ServiceKey) (Service, bool) { return get(v.services, serviceKey(k)) }

// Services walks the services about which something was set.
func (v *View) Services() iter.Seq[*Service] { return walk(v.services, nil) }

// Cluster returns what was set about a cluster.
func (v *View) Cluster(k wire.ServiceKey, name string) (Cluster, bool) {
	return get(v.clusters, clusterKey(k, name))
}

// Clusters walks the clusters of a service about which something was set.
func (v *View) Clusters(k wire.ServiceKey) iter.Seq[*Cluster] { return walk(v.clusters, serviceKey(k)) }

// AllClusters walks the clusters about which something was set.
func (v *View) AllClusters() iter.Seq[*Cluster] { return walk(v.clusters, nil) }

// ServiceKeys walks the services of which the state knows anything at all, each
// once.
func (v *View) ServiceKeys() iter.Seq[wire.ServiceKey] {
	return func(yield func(wire.ServiceKey) bool) {
		seen := make(map[wire.ServiceKey]struct{})
		once := func(k wire.ServiceKey) bool {
			if _, ok := seen[k]; ok {
				return true
			}
			seen[k] = struct{}{}
			return yield(k)
		}
		for s := range v.Services() {
			if !once(s.Key) {
				return
			}
		}
		for c := range v.AllClusters() {
			if !once(c.Service) {
				return
			}
		}
		for i := range v.AllInstances() {
			if !once(i.Service) {
				return
			}
		}
	}
}

// Namespace returns a namespace that was created.
func (v *View) Namespace(id string) (Namespace, bool) { return get(v.namespaces, join(id)) }

// Namespaces walks the namespaces that were created.
func (v *View) Namespaces() iter.Seq[*Namespace] { return walk(v.namespaces, nil) }

// User returns a user.
func (v *View) User(name string) (User, bool) { return get(v.users, join(name)) }

// Users walks the users.
func (v *View) Users() iter.Seq[*User] { return walk(v.users, nil) }

// SearchUsers walks the users whose names contain a text.
func (v *View) SearchUsers(text string) iter.Seq[*User] {
	return func(yield func(*User) bool) {
		for u := range v.Users() {
			if strings.Contains(u.Name, text) && !yield(u) {
				return
			}
		}
	}
}

// Roles walks the roles of a user.
func (v *View) Roles(user string) iter.Seq[*Role] { return walk(v.roles, join(user)) }

// AllRoles walks who has which role.
func (v *View) AllRoles() iter.Seq[*Role] { return walk(v.roles, nil) }

// HasRole says whether a user has a role.
func (v *View) HasRole(user, role string) bool {
	_, ok := v.roles.Get(join(user, role))
	return ok
}

// RoleExists says whether anybody has a role.
func (v *View) RoleExists(role string) bool {
	for r := range v.AllRoles() {
		if r.Role == role {
			return true
		}
	}
	return false
}

// Permissions walks what a role may do.
func (v *View) Permissions(role string) iter.Seq[*Permission] { return walk(v.permissions, join(role)) }

// AllPermissions walks what which role may do.
func (v *View) AllPermissions() iter.Seq[*Permission] { return walk(v.permissions, nil) }

// Switches returns the switches as they were last set.
func (v *View) Switches() Switches { return v.switches }

// Secret returns a secret.
func (v *View) Secret(name string) ([]byte, bool) {
	s, ok := get(v.secrets, join(name))
	return s.Value, ok
}
