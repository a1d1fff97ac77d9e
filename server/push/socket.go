package push

import (
	"fmt"
	"net"
	"net/netip"
)

// Listen opens the UDP socket of a [Server] on an IP address, empty for all of
// them, with a port that the system chooses. The socket cannot send broadcasts.
func Listen(address string) (*net.UDPConn, error) {
	var ip net.IP
	if address != "" {
		addr, err := netip.ParseAddr(address)
		if err != nil {
			return nil, fmt.Errorf("push address %q is not an IP address: %w", address, err)
		}
		ip = addr.AsSlice()
	}
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: ip})
	if err != nil {
		return nil, fmt.Errorf("open the push socket: %w", err)
	}
	if err := forbidBroadcast(conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("forbid broadcasts on the push socket: %w", err)
	}
	return conn, nil
}
