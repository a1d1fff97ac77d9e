// Package loadbalance leads from a service's name to one instance and to a call.
//
// Here belong the pickers, the filter stages in front of them, and the
// http.RoundTripper that calls by name. Here does not belong where the list of
// instances comes from (package discovery).
package loadbalance
