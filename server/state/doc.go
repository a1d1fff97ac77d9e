// Package state is the server's replicated state machine: what has to survive
// and to be the same on every node. It holds persistent instances, services and
// clusters with their settings, namespaces, users with roles and permissions, the
// switches and secrets.
//
// What belongs here: the commands, what each makes of the state, and the state's
// form on disk. What does not: ephemeral instances and anybody's health (package
// naming), who may do what (package auth), order and durability (package
// consensus), and anything that reads a clock, a random source, a file or the
// network.
//
// # Determinism
//
// The same commands in the same order make the same state, on every node and in
// every version: a log is replayed by versions that are newer than the one that
// wrote it. Hence whether a command is well formed is checked before it is
// proposed ([Encode], [State.Check]) and never when it is applied; there only the
// state itself decides. A check may become stricter without changing the past.
//
// A command that this version does not know is an [UnknownCommandError]. It
// changes nothing, and whoever replays a log must stop there.
package state
