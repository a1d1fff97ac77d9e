package netaddr

import (
	"fmt"
	"net"
	"net/netip"
)

// Interface is a network interface as the choice sees it.
type Interface struct {
	// Name is the system's name, such as "eth0".
	Name string
	// Index is the system's number, unique and positive.
	Index int
	// Up, Loopback and PointToPoint are the interface's flags.
	Up, Loopback, PointToPoint bool
	// Addrs are the addresses in the system's order, the primary one first.
	Addrs []netip.Addr
}

// Lister lists the interfaces of a machine, in any order.
type Lister interface {
	Interfaces() ([]Interface, error)
}

// System lists the interfaces of this machine.
type System struct{}

// Interfaces implements [Lister] over [net.Interfaces]. An interface that goes
// away while it is listed is left out.
func (System) Interfaces() ([]Interface, error) {
	listed, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	interfaces := make([]Interface, 0, len(listed))
	for _, i := range listed {
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		interfaces = append(interfaces, Interface{
			Name: i.Name, Index: i.Index,
			Up:           i.Flags&net.FlagUp != 0,
			Loopback:     i.Flags&net.FlagLoopback != 0,
			PointToPoint: i.Flags&net.FlagPointToPoint != 0,
			Addrs:        parseAddrs(addrs),
		})
	}
	return interfaces, nil
}

// parseAddrs keeps what is an IP network: the form in which every system lists
// an interface's own addresses.
func parseAddrs(listed []net.Addr) []netip.Addr {
	addrs := make([]netip.Addr, 0, len(listed))
	for _, a := range listed {
		if network, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(network.IP); ok {
				addrs = append(addrs, addr.Unmap())
			}
		}
	}
	return addrs
}
