// Package nacos looks services up in a Nacos registry, over the Nacos 1.x HTTP
// protocol, and optionally learns of changes by UDP push.
//
// Here belong the translation of lists and the push receiver. Here does not
// belong the cache in front, which is package discovery, nor the protocol
// itself, which registry/nacos shares.
package nacos
