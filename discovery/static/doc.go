// Package static is a source of discovery with a fixed table, from a
// configuration (Spring's SimpleDiscoveryClient): for development without a
// registry, and for services outside it.
package static
