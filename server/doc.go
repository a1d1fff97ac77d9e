// Package server is the registry server: the naming core, its HTTP interface and
// its UDP push, put together on the same front door that applications use
// (package autoconfig).
//
// Here belongs the assembly: the block of properties nacos, what is created in
// which order, and what is said at the start. The parts are in the folders below,
// each without a word about the others: naming (services, instances, health),
// api (HTTP), push (UDP), and cmd/rollcall, the binary.
package server
