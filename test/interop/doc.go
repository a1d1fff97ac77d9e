// Package interop has no code besides its tests: unmodified clients that nobody
// here wrote, and processes that come, go and hang, against the server's real
// binary on the loopback interface.
package interop
