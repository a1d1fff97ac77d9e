package memory

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rollcall-go/rollcall/registry"
)

// Registry implements [registry.ServiceRegistry] in memory. It is safe for
// concurrent use and may be shared by several applications of one process; then
// none of them closes it, see [SharedModule].
type Registry struct {
	mu        sync.RWMutex
	closed    bool
	instances map[registry.ServiceID]map[registry.Key]registry.Instance
	listeners []func(registry.ServiceID)
}

var (
	_ registry.ServiceRegistry = (*Registry)(nil)
	_ registry.Updater         = (*Registry)(nil)
)

// New returns an empty registry.
func New() *Registry {
	return &Registry{instances: map[registry.ServiceID]map[registry.Key]registry.Instance{}}
}

// Register implements [registry.ServiceRegistry]. The instance is stored with
// its key as ID.
func (r *Registry) Register(ctx context.Context, reg registry.Registration) error {
	key := reg.Key()
	return r.change(ctx, "register", key, func(instances map[registry.Key]registry.Instance) (changed bool, err error) {
		instances[key] = stored(reg, key)
		return true, nil
	})
}

// Update implements [registry.Updater].
func (r *Registry) Update(ctx context.Context, reg registry.Registration) error {
	key := reg.Key()
	return r.change(ctx, "update", key, func(instances map[registry.Key]registry.Instance) (changed bool, err error) {
		if _, known := instances[key]; !known {
			return false, registry.ErrNotFound
		}
		instances[key] = stored(reg, key)
		return true, nil
	})
}

func stored(reg registry.Registration, key registry.Key) registry.Instance {
	i := reg.Clone()
	i.Service, i.Cluster, i.IP = key.Service, key.Cluster, key.IP
	i.ID = fmt.Sprintf("%s#%d#%s#%s", key.IP, key.Port, key.Cluster, key.Service.Grouped())
	return i
}

// Deregister implements [registry.ServiceRegistry].
func (r *Registry) Deregister(ctx context.Context, reg registry.Registration) error {
	key := reg.Key()
	return r.change(ctx, "deregister", key, func(instances map[registry.Key]registry.Instance) (changed bool, err error) {
		_, known := instances[key]
		delete(instances, key)
		return known, nil
	})
}

// SetStatus implements [registry.ServiceRegistry].
func (r *Registry) SetStatus(ctx context.Context, reg registry.Registration, status registry.Status) error {
	if status != registry.StatusUp && status != registry.StatusDown {
		return fmt.Errorf("%w: %q", registry.ErrUnknownStatus, status)
	}
	key := reg.Key()
	return r.change(ctx, "set status of", key, func(instances map[registry.Key]registry.Instance) (changed bool, err error) {
		i, ok := instances[key]
		if !ok {
			return false, registry.ErrNotFound
		}
		i.Enabled = status == registry.StatusUp
		instances[key] = i
		return true, nil
	})
}

// Status implements [registry.ServiceRegistry].
func (r *Registry) Status(ctx context.Context, reg registry.Registration) (registry.Status, error) {
	key := reg.Key()
	if err := ctx.Err(); err != nil {
		return "", failed("status of", key, err)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return "", failed("status of", key, registry.ErrClosed)
	}
	i, ok := r.instances[key.Service][key]
	switch {
	case !ok:
		return "", failed("status of", key, registry.ErrNotFound)
	case i.Enabled:
		return registry.StatusUp, nil
	default:
		return registry.StatusDown, nil
	}
}

// Close implements [registry.ServiceRegistry]. What is registered can still be
// listed.
func (r *Registry) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// Instances returns the instances of a service, disabled ones included, sorted
// by cluster, IP and port. The slice is the caller's; the instances in it are
// shared and immutable.
func (r *Registry) Instances(id registry.ServiceID) []registry.Instance {
	r.mu.RLock()
	defer r.mu.RUnlock()
	instances := make([]registry.Instance, 0, len(r.instances[id.Normalize()]))
	for _, i := range r.instances[id.Normalize()] {
		instances = append(instances, i)
	}
	slices.SortFunc(instances, func(a, b registry.Instance) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.IP, b.IP), cmp.Compare(a.Port, b.Port))
	})
	return instances
}

// Services returns the sorted names of the services with at least one instance
// in a namespace and group; "" is the default one.
func (r *Registry) Services(namespace, group string) []string {
	want := registry.ServiceID{Namespace: namespace, Group: group}.Normalize()
	r.mu.RLock()
	defer r.mu.RUnlock()
	var names []string
	for id := range r.instances {
		if id.Namespace == want.Namespace && id.Group == want.Group {
			names = append(names, id.Name)
		}
	}
	slices.Sort(names)
	return names
}

// OnChange calls f, for as long as the registry exists, after each change of a
// service, on the goroutine that made the change. Changes that happen at the
// same time may be told in any order, so f asks [Registry.Instances] for the
// state. f must not block.
func (r *Registry) OnChange(f func(registry.ServiceID)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners = append(slices.Clip(r.listeners), f)
}

// mutation changes the instances of one service and reports whether it did.
type mutation func(map[registry.Key]registry.Instance) (changed bool, err error)

// change applies m to the service of the key and tells the listeners of a
// change, outside the lock. The error says what was attempted.
func (r *Registry) change(ctx context.Context, what string, key registry.Key, m mutation) error {
	listeners, err := r.apply(ctx, key.Service, m)
	for _, listener := range listeners {
		listener(key.Service)
	}
	if err != nil {
		return failed(what, key, err)
	}
	return nil
}

func failed(what string, key registry.Key, err error) error {
	return fmt.Errorf("%s %s of %s: %w", what, net.JoinHostPort(key.IP, strconv.Itoa(key.Port)), key.Service, err)
}

// apply returns the listeners to tell.
func (r *Registry) apply(ctx context.Context, id registry.ServiceID, m mutation) ([]func(registry.ServiceID), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, registry.ErrClosed
	}
	instances := r.instances[id]
	if instances == nil {
		instances = map[registry.Key]registry.Instance{}
	}
	changed, err := m(instances)
	if err != nil || !changed {
		return nil, err
	}
	if len(instances) > 0 {
		r.instances[id] = instances
	} else {
		delete(r.instances, id)
	}
	return r.listeners, nil
}
