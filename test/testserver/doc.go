// Package testserver runs the registry server's real binary as a process of its
// own, for tests that meet it as the world does: over HTTP and UDP, and with
// signals. It shares no code with the server, so that what a test sees is what
// any client sees.
package testserver
