// Package loadbalance leads from a service's name to one instance and to a call.
//
// A choice goes a short way: the list that discovery holds, the stages of the
// service's chain, a policy's picker. Stages that depend on the list alone run
// once for each list; those that look at the request divide the list in advance,
// so that a call only finds its part. Nothing on this way takes a lock, blocks or
// allocates. [Properties] say which stages and which policy there are, for all
// services and for single ones, and can be replaced while calls go on.
//
// Here belong stages, policies, what is remembered of instances (calls under way,
// ejections, results of probes), retries, and the http.RoundTripper that calls by
// name. Here does not belong where the list of instances comes from (package
// discovery), nor where properties are read from (package autoconfig).
package loadbalance
