package push

import (
	"net/netip"
	"strings"
)

// clientAddress reads the address a client asks to be pushed to. Only an IP
// literal will do: resolving a name that a stranger chose would let him aim
// datagrams, and look-ups, at anything. An empty one means the own machine, as in
// Nacos. Addresses that mean many machines or none are refused.
func clientAddress(clientIP string, port int) (netip.AddrPort, bool) {
	if port < 1 || port > 65535 {
		return netip.AddrPort{}, false
	}
	if clientIP == "" {
		clientIP = "127.0.0.1"
	}
	if strings.HasPrefix(clientIP, "[") && strings.HasSuffix(clientIP, "]") {
		clientIP = clientIP[1 : len(clientIP)-1]
	}
	ip, err := netip.ParseAddr(clientIP)
	if err != nil || ip.Zone() != "" {
		return netip.AddrPort{}, false
	}
	ip = ip.Unmap()
	if ip.IsUnspecified() || ip.IsMulticast() || ip == broadcast {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(ip, uint16(port)), true
}

// broadcast is the limited broadcast address. Datagrams to the broadcast address
// of a subnet are refused by the socket, see [Listen].
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
