// Package probe finds out whether persistent instances are well, by asking them
// (Nacos HTTP v1: active probes). Instances that beat are not its business.
//
// Here belong the health checkers of clusters and their JSON, how a TCP, HTTP or
// MySQL target is asked, how often, and when a series of answers is a change of
// health. Here does not belong what the targets are and what a change leads to:
// whoever calls [Prober.Set] says the one, and is told the other by the function
// given to [Prober.OnResult].
//
// The ways through the package: every target has its next probe in one heap; one
// goroutine takes out what is due and starts workers, of which there are never
// more than [Options.Workers] and none while nothing is due. Targets whose last
// probe took long wait in a lane of their own that has at most three quarters
// of the workers, so that thousands of dead ones delay no living one and cost no
// goroutine each.
package probe
