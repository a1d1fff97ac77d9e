package registry

import (
	"fmt"
	"net"
	"strconv"
)

// checkPort accepts what can be registered (rule A-R2, client case 5).
func checkPort(port int) error {
	if port < 1 || port > 65535 {
		return fmt.Errorf("%s %d: must be 1 to 65535, or -1 for the web server's port", keyPort, port)
	}
	return nil
}

// listenerPort returns the port of a bound listener; 0 for an address without
// ports, such as a Unix socket's.
func listenerPort(addr net.Addr) int {
	if addr == nil {
		return 0
	}
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.Port
	}
	_, text, err := net.SplitHostPort(addr.String())
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return 0
	}
	return port
}
