package push

import (
	"net"
	"syscall"
)

// forbidBroadcast takes back the permission that Go gives every UDP socket.
func forbidBroadcast(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(syscall.Handle(fd), syscall.SOL_SOCKET, syscall.SO_BROADCAST, 0)
	})
	if err != nil {
		return err
	}
	return failed
}
