package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// name is what both sources answer to.
const name = "memory"

// Source is a [discovery.Source] and [discovery.Notifier] over a table that is
// changed by its methods. It is safe for concurrent use.
type Source struct {
	mu     sync.Mutex
	table  map[registry.ServiceID][]registry.Instance
	notify func(discovery.Listing)
	closed bool
}

var (
	_ discovery.Source   = (*Source)(nil)
	_ discovery.Notifier = (*Source)(nil)
)

// New returns an empty source.
func New() *Source {
	return &Source{table: make(map[registry.ServiceID][]registry.Instance)}
}

// Set replaces the instances of a service; without instances the service is
// gone.
func (s *Source) Set(service registry.ServiceID, instances ...registry.Instance) {
	s.change(service, func([]registry.Instance) []registry.Instance { return cloneAll(instances) })
}

// Put adds an instance to its service, or replaces the one with the same key.
func (s *Source) Put(instance registry.Instance) {
	s.change(instance.Service, func(list []registry.Instance) []registry.Instance {
		return append(without(list, instance.Key()), instance.Clone())
	})
}

// Remove takes the instance with this key out; one that is not there is no error.
func (s *Source) Remove(key registry.Key) {
	s.change(key.Service, func(list []registry.Instance) []registry.Instance { return without(list, key) })
}

func (s *Source) change(service registry.ServiceID, edit func([]registry.Instance) []registry.Instance) {
	id := service.Normalize()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := edit(s.table[id])
	for i := range list {
		list[i].Service = id
	}
	if len(list) == 0 {
		delete(s.table, id)
	} else {
		s.table[id] = list
	}
	if s.notify != nil && !s.closed {
		// Under the lock, so that the calls come one at a time and in order.
		s.notify(s.listing(id))
	}
}

// Name implements [discovery.Source].
func (*Source) Name() string { return name }

// Fetch implements [discovery.Source].
func (s *Source) Fetch(ctx context.Context, service registry.ServiceID) (discovery.Listing, error) {
	if err := ctx.Err(); err != nil {
		return discovery.Listing{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return discovery.Listing{}, discovery.ErrClosed
	}
	return s.listing(service.Normalize()), nil
}

func (s *Source) listing(id registry.ServiceID) discovery.Listing {
	return discovery.Listing{Service: id, Instances: cloneAll(s.table[id])}
}

// Services implements [discovery.Source].
func (s *Source) Services(ctx context.Context, namespace, group string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in := registry.ServiceID{Namespace: namespace, Group: group}.Normalize()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, discovery.ErrClosed
	}
	var names []string
	for id := range s.table {
		if id.Namespace == in.Namespace && id.Group == in.Group {
			names = append(names, id.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Notify implements [discovery.Notifier].
func (s *Source) Notify(f func(discovery.Listing)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = f
}

// Close implements [discovery.Source].
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func without(list []registry.Instance, key registry.Key) []registry.Instance {
	return slices.DeleteFunc(list, func(i registry.Instance) bool { return i.Key() == key })
}

func cloneAll(list []registry.Instance) []registry.Instance {
	clones := make([]registry.Instance, len(list))
	for i := range list {
		clones[i] = list[i].Clone()
	}
	return clones
}
