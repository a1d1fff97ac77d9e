// Package discovery is the consumer's side: which instances a service has, from
// a local cache that is refreshed behind the caller's back.
//
// Here belong the [Client] with its cache, the [Source] contract that every
// backend implements, and the immutable [Snapshot]. Here does not belong the
// choice of one instance (package loadbalance) nor any wire protocol (the
// backends in the folders below).
package discovery
