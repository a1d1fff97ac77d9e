// Package discovery is the consumer's side: which instances a service has, from
// a local cache that is refreshed behind the caller's back.
//
// What becomes of a list when its source fails, when it becomes empty and when the
// process ends is decided by [FailureTolerance], [EmptyProtection] and [Disk]; how
// an operator replaces it stands at [FailoverSwitch]. All of that is off, or the
// gentlest choice, unless it is asked for, and then costs no goroutine and no file.
//
// Here belong the [Client] with its cache, the [Source] contract that every
// backend implements, and the immutable [Snapshot]. Here does not belong the
// choice of one instance (package loadbalance) nor any wire protocol (the
// backends in the folders below).
package discovery
