// Package snapshot keeps a file with a store's ephemeral instances, so that a
// server that starts again serves at once what it knew when it stopped. Beats
// and registrations since the last snapshot come back with the next beats; what
// an operator decided about them is written within seconds, since nobody says it
// again; what must not be lost at all is not here but in the replicated state.
package snapshot
