package autoconfigtest

import (
	"context"

	"github.com/rollcall-go/rollcall/discovery"
	discoverymemory "github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/memory"
)

// faultyRegistry is the fleet's registry as an application registers with it.
type faultyRegistry struct {
	*memory.Registry
	fleet *Fleet
}

var (
	_ registry.ServiceRegistry = faultyRegistry{}
	_ registry.Updater         = faultyRegistry{}
)

// Register implements [registry.ServiceRegistry].
func (r faultyRegistry) Register(ctx context.Context, reg registry.Registration) error {
	if err := r.fleet.check(ctx, OpRegister, reg.Service); err != nil {
		return err
	}
	return r.Registry.Register(ctx, reg)
}

// Update implements [registry.Updater].
func (r faultyRegistry) Update(ctx context.Context, reg registry.Registration) error {
	if err := r.fleet.check(ctx, OpUpdate, reg.Service); err != nil {
		return err
	}
	return r.Registry.Update(ctx, reg)
}

// Deregister implements [registry.ServiceRegistry].
func (r faultyRegistry) Deregister(ctx context.Context, reg registry.Registration) error {
	if err := r.fleet.check(ctx, OpDeregister, reg.Service); err != nil {
		return err
	}
	return r.Registry.Deregister(ctx, reg)
}

// SetStatus implements [registry.ServiceRegistry].
func (r faultyRegistry) SetStatus(ctx context.Context, reg registry.Registration, status registry.Status) error {
	if err := r.fleet.check(ctx, OpSetStatus, reg.Service); err != nil {
		return err
	}
	return r.Registry.SetStatus(ctx, reg, status)
}

// Close implements [registry.ServiceRegistry]: the registry is the fleet's.
func (faultyRegistry) Close() error { return nil }

// faultySource is the fleet's registry as an application looks services up in it.
type faultySource struct {
	*discoverymemory.RegistrySource
	fleet *Fleet
}

var (
	_ discovery.Source   = faultySource{}
	_ discovery.Notifier = faultySource{}
)

// Fetch implements [discovery.Source].
func (s faultySource) Fetch(ctx context.Context, service registry.ServiceID) (discovery.Listing, error) {
	if err := s.fleet.check(ctx, OpFetch, service); err != nil {
		return discovery.Listing{}, err
	}
	return s.RegistrySource.Fetch(ctx, service)
}

// Services implements [discovery.Source].
func (s faultySource) Services(ctx context.Context, namespace, group string) ([]string, error) {
	if err := s.fleet.check(ctx, OpServices, registry.ServiceID{Namespace: namespace, Group: group}); err != nil {
		return nil, err
	}
	return s.RegistrySource.Services(ctx, namespace, group)
}

// Notify implements [discovery.Notifier]: a registry that cannot be asked tells
// nothing either.
func (s faultySource) Notify(f func(discovery.Listing)) {
	s.RegistrySource.Notify(func(l discovery.Listing) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // a fault that waits must not hold up whoever made the change
		if s.fleet.check(ctx, OpFetch, l.Service) == nil {
			f(l)
		}
	})
}
