package autoconfig

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// dropNewConnections is a socket filter that drops the segments which ask for a
// connection and takes all others, such as those that finish one. Filters of TCP
// sockets see the segment from its header on.
var dropNewConnections = [...]unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13},                   // the flags
	{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 0x02, Jt: 0, Jf: 1}, // SYN
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff},
}

// deafListener is a listening socket that takes no new connections. Who asks for
// one hears nothing, asks again a second later, and is refused by then.
type deafListener struct{ socket syscall.RawConn }

// deafen makes a listener deaf for the rest of its life. It is not for a listener
// that other processes have as well. Not ok is one that cannot be made so.
func deafen(l net.Listener) (deafListener, bool) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return deafListener{}, false
	}
	socket, err := tcp.SyscallConn()
	if err != nil {
		return deafListener{}, false
	}
	filter := dropNewConnections
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	var failed error
	err = socket.Control(func(fd uintptr) {
		failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program)
	})
	return deafListener{socket}, err == nil && failed == nil
}

// waiting says whether there are connections that nobody has accepted yet.
func (d deafListener) waiting() bool {
	var n int
	err := d.socket.Control(func(fd uintptr) {
		n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	})
	return err == nil && n > 0
}

// endInput has a connection end behind what has arrived. Not ok is one where that
// cannot be done.
func endInput(conn net.Conn) bool {
	c, ok := conn.(interface{ CloseRead() error })
	return ok && c.CloseRead() == nil
}
