package nacos

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/rollcall-go/rollcall/registry/nacos"
)

// Connection says which Nacos to speak to, and how. It is that of registry/nacos, so
// that one value does for both.
type Connection = nacos.Connection

// Options say where to look and how. Only the Connection is required; the zero value
// of every other field means its default.
type Options struct {
	// Connection is to the registry.
	Connection
	// Push has the registry tell of changes.
	Push Push
	// Logger receives what no caller is told; nil discards.
	Logger *slog.Logger
}

// Push is about the UDP datagrams with which a Nacos registry announces changed
// lists. It is off by default: the protocol authenticates nobody, so that
// whoever can forge a server's address can forge a list (C-R1).
type Push struct {
	// Enabled opens the socket.
	Enabled bool
	// Port is the UDP port to receive on; 0 is any free one.
	Port int
	// AdvertiseIP is the address literal the registry is told to push to; "" is
	// the local address of the route to the registry.
	AdvertiseIP string
}

func (p Push) validate() error {
	var errs []error
	if p.Port < 0 || p.Port > 65535 {
		errs = append(errs, fmt.Errorf("push port %d is not 0 to 65535", p.Port))
	}
	if p.AdvertiseIP != "" {
		addr, err := netip.ParseAddr(p.AdvertiseIP)
		if err != nil || addr.IsUnspecified() || addr.IsMulticast() {
			errs = append(errs, fmt.Errorf("push advertise IP %q is not the address of a host", p.AdvertiseIP))
		}
	}
	return errors.Join(errs...)
}
