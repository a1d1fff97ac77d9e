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

// Publisher delivers an event to its listeners, synchronously and in order. It
// returns the joined errors of the listeners. autoconfig's EventBus is one.
type Publisher interface {
	Publish(ctx context.Context, event any) error
}
