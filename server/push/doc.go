// Package push tells subscribers over UDP that a service has changed, so that
// they need not wait for their next poll (Nacos HTTP v1: UDP push).
//
// Here belong who is pushed to, when, how often, and what happens to the ones
// that do not answer. Here does not belong what is pushed: the answer's bytes
// come from a [Source], and whoever knows of a change calls [Server.Change].
//
// The ways through the package: a list request with a UDP port leads to
// [Server.Subscribe]; a change starts a round at once or, while the service is
// cooling down from its last round, when that is over, so that any number of
// changes costs one round per window and the last state always goes out; a round
// encodes the answer once per [Shape] and sends it to every subscriber of that
// shape; what is not acknowledged is sent once more and then forgotten.
//
// One goroutine runs rounds and retries, one reads acknowledgements, however
// many subscribers there are.
package push
