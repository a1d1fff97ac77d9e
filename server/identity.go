package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/internal/netaddr"
	"github.com/rollcall-go/rollcall/server/api"
)

// identity is who this server is among servers: its address, and the port as
// soon as it listens.
type identity struct {
	ip   string
	port atomic.Int64
}

// newIdentity takes the configured address, else the one the server listens on,
// else one of the interfaces'.
func newIdentity(p Properties, web autoconfig.ServerProperties, logger *slog.Logger) (*identity, error) {
	id := &identity{}
	id.port.Store(int64(web.Port))
	o := netaddr.DefaultOptions()
	switch listens, err := netip.ParseAddr(strings.Trim(web.Address, "[]")); {
	case p.InetUtils.IPAddress != "":
		o.IP = p.InetUtils.IPAddress
	case err == nil && !listens.IsUnspecified():
		o.IP = listens.String()
	}
	choice, err := netaddr.Select(o, netaddr.System{})
	if err != nil {
		return nil, fmt.Errorf("nacos.inetutils.ip-address: %w", err)
	}
	if choice.Warning != "" {
		logger.Warn("this server's address may not be the one others reach it at", "address", choice.IP, "reason", choice.Warning,
			"use", "nacos.inetutils.ip-address")
	}
	id.ip = choice.IP
	return id, nil
}

// listens notes the port that the server really has.
func (id *identity) listens(addr net.Addr) {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		id.port.Store(int64(tcp.Port))
	}
}

func (id *identity) node() api.Node { return api.Node{IP: id.ip, Port: int(id.port.Load())} }
