// Package netaddr chooses the address under which this process is reachable:
// what a registration carries when the user names no address.
//
// Here belongs the choice alone, over a list of interfaces that a [Lister]
// gives. Here does not belong any name lookup: the choice is on the way of an
// application's start and must not wait for a resolver (rule B-R3).
package netaddr
