// Package naming is the core of the registry server: which services there are,
// which instances they have, and which of those are alive. It knows nothing of
// HTTP, UDP, peers or disks; those are rooms around it that call it.
//
// The idea in one page, for readers who want to learn how such a thing works:
//
//   - What readers see is a [Revision]: an immutable picture of one service. A
//     reader loads it with one atomic load and can keep it as long as it likes.
//     Nobody ever waits for a reader, and a reader never waits for anybody.
//   - What writers do is a change: a function on a draft of the next revision.
//     Changes queue up per service. Whoever finds no writer at work becomes the
//     writer, applies everything that is queued by then to one draft, publishes
//     it by one atomic store and wakes the others (entry.go). So a burst of n
//     registrations costs one copy and not n, and whoever has an answer reads
//     its own write.
//   - Revisions share structure: a large service is a list of small sorted
//     blocks, and a change copies only the blocks it touches (ordered.go).
//   - A beat is not a change. It is a look-up and a store of a number in the
//     instance's liveness, which all revisions share (beat.go). Only a beat that
//     finds the instance unhealthy goes through the writers' door.
//   - An ephemeral instance is two last-writer-wins registers: what its client registered,
//     and what an operator overrode. Each has a version of a hybrid logical clock.
//     Joining two such records gives the same result in any order, so a peer's
//     change is merged through the same door as a client's (record.go).
//   - A persistent instance, what a call said about a service, and the settings
//     of a cluster are decided elsewhere, by a replicated state machine. What a
//     client asks for is checked here first, then decided there, then applied
//     here; a decision is never refused (persistent.go, service.go, cluster.go).
//     Only the health of a persistent instance, which probes find, is this
//     node's own. Both kinds of instances meet in the revision and nowhere else.
//   - Silence is measured on the lease clock, which advances only while this
//     process demonstrably runs: a pause stops expiry instead of causing it
//     (lease.go). A timing wheel holds one timer for each instance and looks
//     again at the instance when it fires, so a beat never touches the wheel
//     (wheel.go, expiry.go).
//   - An answer is bytes: each revision encodes a list once for each shape of
//     query and then only appends two numbers (answer.go).
//   - A snapshot of the ephemeral instances is written from revisions, so that
//     it holds up nobody, and merged like a peer's records (snapshot.go). Package
//     snapshot below keeps it in a file.
//
// Here does not belong: parsing of requests (package wire and the API), who may
// do what, subscribers and push, probes, files, consensus.
package naming
