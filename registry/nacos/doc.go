// Package nacos makes this process known to a Nacos registry and keeps it alive
// there with beats, over the Nacos 1.x HTTP protocol.
//
// Here belong the desired state of each registration and the beat loops. Here
// does not belong the protocol itself, which discovery/nacos shares, nor when to
// register, which is package registry.
package nacos
