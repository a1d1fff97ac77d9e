// Package api is the registry's HTTP interface: the naming part of the Nacos 1.x
// HTTP protocol on a gin engine (Nacos HTTP v1).
//
// Here belong reading requests, the rules of who may ask what and when, and the
// exact form of answers and errors. Here does not belong any rule about
// services, instances or health (package naming) or about pushing (package
// push).
//
// One table, [Routes], says what there is. Everything else below /v1/ns is
// refused with the status 501, so that a client learns at once that it asked for
// something this server does not do.
package api
