package registry

import (
	"context"
	"net"
)

// NamespaceManagement is the Namespace of a [WebServerStarted] that a separate
// management server publishes (Spring's server namespace).
const NamespaceManagement = "management"

// WebServerStarted says that a web server listens and serves.
type WebServerStarted struct {
	// Namespace is "" for the application's server, [NamespaceManagement] for a
	// management server, whose events never cause a registration (A-R3).
	Namespace string
	// Addr is the listener's address with the port it really got.
	Addr net.Addr
}

// InstancePreRegistered is published before the register call. A listener may
// change what Registration points to; an error stops the registration.
type InstancePreRegistered struct{ Registration *Registration }

// InstanceRegistered is published after the register call succeeded.
type InstanceRegistered struct{ Registration Registration }

// InstanceDeregistered is published after the deregister call, whether or not
// the registry could be reached.
type InstanceDeregistered struct {
	Registration Registration
	// Err is what deregistering returned.
	Err error
}

// RegistrationFailed is published after each attempt to register that failed.
type RegistrationFailed struct {
	Registration Registration
	Err          error
}

// StatusChanged is published after the declared status was switched at run time.
type StatusChanged struct {
	Registration Registration
	Status       Status
}

// RegistrationChanged is published after what is registered was changed at run
// time, without a new registration where the registry can do without.
type RegistrationChanged struct {
	// Old and New are what was registered before and is now. Where their keys
	// differ, Old was taken out after New had been registered.
	Old, New Registration
	// Remote says that the change was made at the registry, by an operator, and
	// adopted from there.
	Remote bool
}

// Heartbeat says that the catalogue of services changed: the set of their names
// (Spring's HeartbeatEvent). It is published only when State differs from that of
// the last one (rule B-R5).
type Heartbeat struct {
	// State is a hash of the catalogue.
	State string
	// Services are the sorted names, shared: nobody changes the slice.
	Services []string
}

// InstancesChanged is published after the list of a service that is in use
// changed, once for each content that was there long enough to be told. The
// slices and what they hold are shared and immutable.
type InstancesChanged struct {
	// Service is the normalised id.
	Service ServiceID
	// Added, Removed and Modified are sorted by cluster, IP and port. Modified
	// holds the instances as they are now.
	Added, Removed, Modified []Instance
}

// PublisherFunc makes a function a [Publisher].
type PublisherFunc func(ctx context.Context, event any) error

// Publish calls f.
func (f PublisherFunc) Publish(ctx context.Context, event any) error { return f(ctx, event) }

// Publisher delivers an event to its listeners, synchronously and in order. It
// returns the joined errors of the listeners. autoconfig's EventBus is one.
type Publisher interface {
	Publish(ctx context.Context, event any) error
}
