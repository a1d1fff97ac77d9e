//go:build !linux

package autoconfig

import "net"

// deafListener is a listening socket that takes no new connections.
type deafListener struct{}

// deafen cannot make a listener deaf here.
func deafen(net.Listener) (deafListener, bool) { return deafListener{}, false }

func (deafListener) waiting() bool { return false }

// endInput cannot be done here: other systems drop what has arrived.
func endInput(net.Conn) bool { return false }
