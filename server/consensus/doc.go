// Package consensus is the room around the server's replicated state machine: it
// orders commands with hashicorp/raft, keeps them on disk and gives them to the
// machine, the same on one node as on several. It knows nothing of what the
// commands mean.
//
// What belongs here: the raft node, its log, votes, snapshots and their files,
// backup and restore. What does not: the commands and the state they make, which
// are package state, and everything that clients see.
//
// # Files
//
// The data directory (mode 0700, files 0600) holds
//
//	VERSION        format of the directory and the node's id; written last at the first start
//	LOCK           held while a process has the directory open
//	votes          term and vote, with version, length and checksum; replaced as a whole
//	log/           the log: segments of entries, each with length and checksum, and
//	               the list of them, so that none gets lost unnoticed
//	snapshots/     the newest snapshots, in checksummed chunks
//
// A write is acknowledged after its log entry was synced. At the start only an
// entry that was half written when the process died is cut off, with a log line;
// everything else that does not match its checksum refuses the start with a
// [DamageError] that names the place. Files that are replaced are written beside
// and renamed.
package consensus
