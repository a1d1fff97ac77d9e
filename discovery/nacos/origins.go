package nacos

import (
	"context"
	"net/netip"
	"slices"
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
	// hosts returns the servers as they are at the moment, listed is what it
	// returned last.
	hosts  func() []string
	listed []string
	lookup lookup
	// fixed are the servers given as addresses, named those given as names.
	fixed map[netip.Addr]bool
	named map[string][]netip.Addr
	next  time.Time
}

func newOrigins(hosts func() []string, find lookup) *origins {
	o := &origins{hosts: hosts, lookup: find}
	o.follow()
	return o
}

// follow takes over another list of servers.
func (o *origins) follow() {
	hosts := o.hosts()
	if o.fixed != nil && slices.Equal(hosts, o.listed) {
		return
	}
	old := o.named
	o.listed, o.next = hosts, time.Time{}
	o.fixed, o.named = make(map[netip.Addr]bool), make(map[string][]netip.Addr)
	for _, host := range hosts {
		if addr, err := netip.ParseAddr(host); err == nil {
			o.fixed[addr.Unmap()] = true
		} else {
			o.named[host] = old[host]
		}
	}
}

// allow reports whether a packet from addr comes from the registry.
func (o *origins) allow(ctx context.Context, addr netip.Addr) bool {
	o.follow()
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
