package loadbalance

import (
	"cmp"
	"net/netip"
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

// Values of [Properties].IPType.
const (
	IPTypeV4 = "IPv4"
	IPTypeV6 = "IPv6"
)

// parseIPType reads [IPTypeV4] and [IPTypeV6] in any case, and "".
func parseIPType(text string) (ipType string, ok bool) {
	for _, known := range []string{"", IPTypeV4, IPTypeV6} {
		if strings.EqualFold(text, known) {
			return known, true
		}
	}
	return "", false
}

// ipTypeOf returns the kind of addresses by which a service is called; "" is what
// each instance is registered with.
func (l *LoadBalancer) ipTypeOf(p *Properties) string {
	own, _ := parseIPType(p.IPType) // was checked with the others
	return cmp.Or(own, l.ipType)
}

// IPType returns by which kind of addresses a service is called: [IPTypeV4],
// [IPTypeV6], or "" for what each instance is registered with. It is for callers
// that make their own connections; see [Reached].
func (l *LoadBalancer) IPType(id registry.ServiceID) string {
	p, err := l.config.Load().properties.For(id.Normalize())
	if err != nil {
		return ""
	}
	return l.ipTypeOf(&p)
}

// Reached returns an instance with the address that a caller of this kind uses. A
// caller by IPv6 goes to the address of the metadata key [registry.MetadataIPv6],
// which a registration by IPv4 may have beside its own, as in Spring Cloud Alibaba.
// The instance itself, which is shared, is never changed: it is the answer where
// there is nothing to change.
func Reached(i *registry.Instance, ipType string) *registry.Instance {
	if ipType != IPTypeV6 {
		return i
	}
	second, ok := i.Metadata[registry.MetadataIPv6]
	if !ok {
		return i
	}
	addr, err := netip.ParseAddr(strings.Trim(strings.TrimSpace(second), "[]"))
	if err != nil || !addr.Is6() || addr.Is4In6() || addr.Zone() != "" || addr.IsUnspecified() {
		return i // is no address; its own may be one
	}
	if own, err := netip.ParseAddr(strings.Trim(i.IP, "[]")); err != nil || !own.Unmap().Is4() {
		return i // a name leads to what it leads to, and IPv6 is there already
	}
	other := *i
	other.IP = addr.String()
	return &other
}

// ipStage keeps the instances with an address of a kind while there are any.
// Those registered by a name count as both: what it leads to is not known here.
func ipStage(ipType string) Stage {
	return Stage{name: StageIPType, rank: rankAlive, list: func(_ *builder, s stock) []Candidate {
		if ipType == "" {
			return s.candidates
		}
		kept := keep(s.candidates, func(c *Candidate) bool {
			addr, err := netip.ParseAddr(strings.Trim(c.Instance.IP, "[]"))
			return err != nil || addr.Unmap().Is4() == (ipType == IPTypeV4)
		})
		if len(kept) == 0 {
			return s.candidates
		}
		return kept
	}}
}
