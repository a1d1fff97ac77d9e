// Package server is the registry server: the naming core, the durable state
// behind it, its HTTP interface and its UDP push, put together on the same front
// door that applications use (package autoconfig).
//
// Here belongs the assembly: the block of properties nacos, what is created and
// opened in which order, what the whole log goes through, and what is said at the
// start. The parts are in the folders below; none knows those that stand behind it:
//
//   - naming: services, instances, health, and a copy of those that beat on disk
//   - state: what has to survive, as commands of one state machine
//   - consensus: the log and the snapshots that machine lives from
//   - projection: from the state to naming, auth and probe
//   - probe: the health checks of persistent instances
//   - auth: users, tokens, permissions
//   - api: HTTP
//   - shed: which requests are turned away when there are too many
//   - push: UDP
//   - control: the way to the data for whoever owns the directory
//   - cmd/rollcall: the binary
package server
