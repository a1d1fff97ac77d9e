// Package api is the registry's HTTP interface: the naming part of the Nacos 1.x
// HTTP protocol on a gin engine (Nacos HTTP v1).
//
// Here belong reading requests, which right a request needs and when it may come,
// and the exact form of answers and errors. Here does not belong any rule about
// services, instances or health (package naming), about what is kept (package
// state), about who somebody is (package auth) or about pushing (package push).
//
// One table, [Routes], says what there is, who may use it and what it does: the
// engine, the check of rights and the document are made from it. Everything else
// below /v1/ns is refused with the status 501, so that a client learns at once
// that it asked for something this server does not do.
//
// What has to survive is checked against the store, proposed as a command of the
// state, and answered when every reader sees it.
package api
