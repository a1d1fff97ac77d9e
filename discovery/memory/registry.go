package memory

import (
	"context"
	"sync"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// Registry is what [FromRegistry] needs of a registry in memory; that of package
// registry/memory has it. All methods are safe for concurrent use.
type Registry interface {
	// Instances returns all instances of a service.
	Instances(registry.ServiceID) []registry.Instance
	// Services returns the sorted names in a namespace and group.
	Services(namespace, group string) []string
	// OnChange has f called after each change, on any goroutine, for ever.
	OnChange(f func(registry.ServiceID))
}

// RegistrySource is a [discovery.Source] and [discovery.Notifier] over a registry
// of the same process. It is safe for concurrent use.
type RegistrySource struct {
	registry Registry

	mu     sync.Mutex
	notify func(discovery.Listing)
	closed bool
}

var (
	_ discovery.Source   = (*RegistrySource)(nil)
	_ discovery.Notifier = (*RegistrySource)(nil)
)

// FromRegistry returns a source of what is registered there. It does not own the
// registry.
func FromRegistry(r Registry) *RegistrySource {
	s := &RegistrySource{registry: r}
	r.OnChange(s.changed)
	return s
}

func (s *RegistrySource) changed(service registry.ServiceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notify != nil && !s.closed {
		// Read under the lock: changes may be told in any order, but what is read
		// last is newest.
		s.notify(s.listing(service.Normalize()))
	}
}

func (s *RegistrySource) listing(id registry.ServiceID) discovery.Listing {
	return discovery.Listing{Service: id, Instances: cloneAll(s.registry.Instances(id))}
}

// Name implements [discovery.Source].
func (*RegistrySource) Name() string { return name }

// Fetch implements [discovery.Source].
func (s *RegistrySource) Fetch(ctx context.Context, service registry.ServiceID) (discovery.Listing, error) {
	if err := s.usable(ctx); err != nil {
		return discovery.Listing{}, err
	}
	return s.listing(service.Normalize()), nil
}

// Services implements [discovery.Source].
func (s *RegistrySource) Services(ctx context.Context, namespace, group string) ([]string, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return s.registry.Services(namespace, group), nil
}

func (s *RegistrySource) usable(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return discovery.ErrClosed
	}
	return ctx.Err()
}

// Notify implements [discovery.Notifier].
func (s *RegistrySource) Notify(f func(discovery.Listing)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = f
}

// Close implements [discovery.Source].
func (s *RegistrySource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
