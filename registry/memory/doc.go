// Package memory is a service registry within one process, for tests, examples
// and applications that consist of several parts: what registers in it is known
// to whoever holds the same [Registry].
//
// There are no beats: an instance stays until it is deregistered.
package memory
