// Package registry is the provider's side: what this process offers, and how it
// is made known, kept alive and taken back.
//
// Here belong the types of a registration, the [ServiceRegistry] contract that
// every backend implements, the state machine [AutoServiceRegistration], and
// the event types of the framework. Here does not belong anything about looking
// services up (package discovery), nor anything about a wire protocol (the
// backends in the folders below).
package registry
