// Package nacosclient is the one client of the Nacos 1.x HTTP protocol in this
// module: the calls themselves, the choice of the server, retries and login.
//
// It keeps no registration alive and caches no list; registry/nacos and
// discovery/nacos do that and can share one [Client], hence one login and one
// set of connections.
package nacosclient
