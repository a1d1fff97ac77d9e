package registry

import (
	"context"
	"errors"
)

// Errors that callers of a [ServiceRegistry] branch on.
var (
	// ErrNotFound says that the registry does not know the registration.
	ErrNotFound = errors.New("registration not found")
	// ErrClosed says that the registry was closed before the call.
	ErrClosed = errors.New("service registry is closed")
	// ErrUnknownStatus says that a status is none of [StatusUp], [StatusDown].
	ErrUnknownStatus = errors.New("unknown status, allowed are UP and DOWN")
)

// Status is what a provider declares about itself, in the vocabulary of
// Spring's Nacos registry: DOWN keeps the registration and takes the traffic
// away (enabled=false).
type Status string

// The statuses.
const (
	StatusUp   Status = "UP"
	StatusDown Status = "DOWN"
)

// Registration is what this process offers: the desired state that a registry
// keeps true until it is deregistered. A Registration handed to a registry is
// not changed afterwards; a changed one is registered again and replaces it.
type Registration struct {
	Instance
}

// ServiceRegistry is the provider's side of a registry (Spring's
// ServiceRegistry). Every implementation passes the suite registrytest.
//
// All methods are safe for concurrent use and honour the context's deadline.
// Their errors say what was attempted and of which instance, by its address.
type ServiceRegistry interface {
	// Register makes the registration known and keeps it alive, with beats where
	// the registry wants them, until Deregister or Close. Registering an
	// instance with the same [Key] again replaces the earlier state without a
	// second beat loop. When Register returns an error nothing new is kept alive;
	// an earlier registration of the same key stays as it was.
	Register(ctx context.Context, r Registration) error
	// Deregister ends the beats, waits for one in flight and then takes the
	// registration out. A registration nobody knows is no error. The beats stay
	// ended even when Deregister returns an error.
	Deregister(ctx context.Context, r Registration) error
	// SetStatus switches traffic on or off. The registry remembers it: later
	// re-registrations carry it. ErrUnknownStatus and ErrNotFound as documented.
	SetStatus(ctx context.Context, r Registration, status Status) error
	// Status returns the declared status, ErrNotFound when not registered here.
	Status(ctx context.Context, r Registration) (Status, error)
	// Close releases everything within two seconds (client rule C-R4), without
	// deregistering. It is idempotent.
	Close() error
}

// Updater is a [ServiceRegistry] that changes a registration in place: weight,
// metadata and the enabled flag by one call, without a gap and without a second
// registration.
type Updater interface {
	// Update replaces the desired state of a registration with the same [Key] and
	// kind. ErrNotFound when it is not registered here. When Update returns an
	// error the desired state is as it was.
	Update(ctx context.Context, r Registration) error
}

// Watcher is a [ServiceRegistry] that adopts what an operator changed of a
// registration at the registry.
type Watcher interface {
	// Watch has f called with each registration kept here whose desired state was
	// changed from outside. f is called from any goroutine and does not call the
	// registry back. A later Watch replaces f.
	Watch(f func(Registration))
}
