// Package memory holds sources of discovery that live in this process: [Source]
// with a table of its own, for tests and for services that are made known by
// code, and [RegistrySource] over a registry in memory. Both tell of changes at
// once.
package memory
