package nacos

import (
	"context"
	"net/netip"
	"time"
)

const (
	// lookupTimeout bounds looking a server's name up.
	lookupTimeout = 2 * time.Second
	// lookupPause is how often names are looked up again at most. A stranger's
	// packets can cause no more.
	lookupPause = 30 * time.Second
)

// lookup has the form of [net.Resolver.LookupNetIP].
type lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

// origins are the addresses that pushes may come from: those of the configured
// servers (C-R1). Names are looked up when a packet comes from an address not
// known yet, since the addresses of a name change. Used by one goroutine.
type origins struct {
	lookup lookup
	// fixed are the servers given as addresses, named those given as names.
	fixed map[netip.Addr]bool
	named map[string][]netip.Addr
	next  time.Time
}

func newOrigins(hosts []string, find lookup) *origins {
	o := &origins{lookup: find, fixed: make(map[netip.Addr]bool), named: make(map[string][]netip.Addr)}
	for _, host := range hosts {
		if addr, err := netip.ParseAddr(host); err == nil {
			o.fixed[addr.Unmap()] = true
		} else {
			o.named[host] = nil
		}
	}
	return o
}

// allow reports whether a packet from addr comes from the registry.
func (o *origins) allow(ctx context.Context, addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if o.known(addr) {
		return true
	}
	if len(o.named) == 0 || time.Now().Before(o.next) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	for host := range o.named {
		if found, err := o.lookup(ctx, "ip", host); err == nil {
			o.named[host] = found
		}
	}
	o.next = time.Now().Add(lookupPause)
	return o.known(addr)
}

func (o *origins) known(addr netip.Addr) bool {
	if o.fixed[addr] {
		return true
	}
	for _, found := range o.named {
		for _, a := range found {
			if a.Unmap().WithZone("") == addr {
				return true
			}
		}
	}
	return false
}
