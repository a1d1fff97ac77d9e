package netaddr

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// The rules by which an address is chosen, in their order.
const (
	RuleIP        = "ip"
	RulePodIP     = "pod-ip"
	RuleInterface = "network-interface"
	RuleListen    = "listen-address"
	RuleScan      = "scan"
	RuleDefault   = "default-ip-address"
)

// Choice is the outcome of [Select].
type Choice struct {
	// IP is the chosen address without brackets, or the host name that was
	// configured.
	IP string
	// IPv6 is the value for the metadata key "IPv6": an IPv6 address in brackets.
	// It is empty unless the IP type is unset and an interface has one.
	IPv6 string
	// Interface is where IP was found; empty when it came from elsewhere.
	Interface string
	// Rule is the Rule constant that decided.
	Rule string
	// Warning says why the choice may not be what the user wants; mostly empty.
	Warning string
	// Rejected lists what was looked at and not taken.
	Rejected []Rejected
}

// Rejected is an address, or a whole interface, that was not taken.
type Rejected struct {
	// Interface is the interface's name, or the environment variable's.
	Interface string
	// Address is empty when the whole interface was left out.
	Address string
	// Reason says why, in a few words.
	Reason string
}

// Select chooses an address by the first rule that gives one: the explicit IP,
// the environment variable, the named interface, the one address that is listened
// on, the scan, the default (rules B-R1 and B-R2, client case 2).
//
// The scan looks at interfaces by ascending index and at the addresses of each
// in the system's order, and takes the first that passes. Preferred networks
// are tried in their order. So the choice does not depend on the order in which
// the lister returns the interfaces.
//
// It returns an error for options that are not valid, a named interface that
// does not exist or has no address, and a lister that fails.
func Select(o Options, lister Lister) (Choice, error) {
	r, err := o.compile()
	if err != nil {
		return Choice{}, err
	}
	if r.ip != "" {
		return Choice{IP: r.ip, Rule: RuleIP}, nil
	}
	var choice Choice
	if done, err := r.podIP(&choice); done || err != nil {
		return choice, err
	}
	interfaces, err := lister.Interfaces()
	if err != nil {
		return Choice{}, err
	}
	if r.Interface != "" {
		err := r.named(&choice, interfaces)
		return choice, err
	}
	if addr, err := parseAddr(r.ListenIP); err == nil {
		choice.IP, choice.Rule = addr.String(), RuleListen
		return choice, nil
	}
	r.scan(&choice, interfaces)
	return choice, nil
}

// podIP takes the address of the environment variable unless it is of the other
// IP type.
func (r rules) podIP(choice *Choice) (done bool, err error) {
	if r.PodIPEnv == "" {
		return false, nil
	}
	value, _ := r.LookupEnv(r.PodIPEnv)
	if strings.TrimSpace(value) == "" {
		return false, nil
	}
	addr, err := parseAddr(value)
	if err != nil {
		return false, fmt.Errorf("environment variable %s %q: %w", r.PodIPEnv, value, err)
	}
	if r.IPType != "" && (r.IPType == IPv4) != addr.Is4() {
		choice.reject(r.PodIPEnv, addr.String(), "is not "+r.IPType)
		return false, nil
	}
	choice.IP, choice.Rule = addr.String(), RulePodIP
	return true, nil
}

// candidate is an address that passed.
type candidate struct {
	addr netip.Addr
	name string
	rank int
}

// named takes an address of the one interface the user asked for.
func (r rules) named(choice *Choice, interfaces []Interface) error {
	at := slices.IndexFunc(interfaces, func(i Interface) bool { return i.Name == r.Interface })
	if at < 0 {
		return fmt.Errorf("%s %q: no such interface, there are: %s", keyInterface, r.Interface, names(interfaces))
	}
	var found []candidate
	for _, addr := range interfaces[at].Addrs {
		if reason := neverUsable(addr); reason != "" {
			choice.reject(r.Interface, addr.String(), reason)
			continue
		}
		found = append(found, candidate{addr: addr, name: r.Interface})
	}
	if !r.take(choice, found, RuleInterface) {
		return fmt.Errorf("%s %q: the interface has no usable address", keyInterface, r.Interface)
	}
	return nil
}

// scan takes an address of any interface that passes the filters, or the
// default.
func (r rules) scan(choice *Choice, interfaces []Interface) {
	interfaces = slices.SortedFunc(slices.Values(interfaces), func(a, b Interface) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Name, b.Name))
	})
	var found []candidate
	for _, i := range interfaces {
		if reason := r.leavesOut(i); reason != "" {
			choice.reject(i.Name, "", reason)
			continue
		}
		for _, addr := range i.Addrs {
			rank, reason := r.rank(addr)
			if reason != "" {
				choice.reject(i.Name, addr.String(), reason)
				continue
			}
			found = append(found, candidate{addr: addr, name: i.Name, rank: rank})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	if !r.take(choice, found, RuleScan) {
		choice.IP, choice.Rule = r.defaultIP, RuleDefault
		choice.Warning = "no interface has a usable address, other hosts may not reach this one"
	}
}

// leavesOut says why the scan does not look at i; "" when it does.
func (r rules) leavesOut(i Interface) string {
	switch {
	case !i.Up:
		return "is down"
	case i.Loopback:
		return "is loopback"
	case i.PointToPoint:
		return "is point-to-point"
	}
	for _, pattern := range r.ignored {
		if pattern.MatchString(i.Name) {
			return "is ignored"
		}
	}
	return ""
}

// rank returns the preference of an address, lower is better, or the reason why
// the scan does not take it.
func (r rules) rank(addr netip.Addr) (rank int, reason string) {
	if reason := neverUsable(addr); reason != "" {
		return 0, reason
	}
	if addr.IsLoopback() {
		return 0, "is loopback"
	}
	if r.SiteLocalOnly {
		if !addr.IsPrivate() {
			return 0, "is not site-local"
		}
		return 0, ""
	}
	if len(r.preferred) > 0 {
		rank := slices.IndexFunc(r.preferred, func(n network) bool { return n.contains(addr) })
		if rank < 0 {
			return 0, "is in no preferred network"
		}
		return rank, ""
	}
	if addr.Is6() && addr.IsPrivate() {
		return 0, "is unique-local"
	}
	return 0, ""
}

// deprecatedSiteLocal is IPv6's own idea of a private network (RFC 3879).
var deprecatedSiteLocal = netip.MustParsePrefix("fec0::/10")

// neverUsable says why no rule but an explicit IP gives addr; "" when it may be
// used.
func neverUsable(addr netip.Addr) string {
	switch {
	case addr.IsLinkLocalUnicast():
		return "is link-local"
	case addr.IsUnspecified(), addr.IsMulticast(), !addr.IsValid():
		return "is not the address of a host"
	case deprecatedSiteLocal.Contains(addr):
		return "is deprecated site-local"
	}
	return ""
}

// take fills the choice with the best of the candidates, which are in order of
// preference, and reports whether there was one.
func (r rules) take(choice *Choice, found []candidate, rule string) bool {
	if len(found) == 0 {
		return false
	}
	v4 := slices.IndexFunc(found, func(c candidate) bool { return c.addr.Is4() })
	v6 := slices.IndexFunc(found, func(c candidate) bool { return c.addr.Is6() })
	at := v4
	switch {
	case r.IPType == IPv6 && v6 >= 0, r.IPType == "" && v4 < 0:
		at = v6
	case r.IPType == IPv6:
		choice.Warning = "no IPv6 address found, taking an IPv4 one"
	case v4 < 0:
		for _, c := range found {
			choice.reject(c.name, c.addr.String(), "is not IPv4")
		}
		return false
	}
	if r.IPType == "" && v6 >= 0 && !found[v6].addr.IsLoopback() {
		choice.IPv6 = "[" + found[v6].addr.String() + "]"
	}
	for i, c := range found {
		if i != at {
			choice.reject(c.name, c.addr.String(), "comes after the chosen one")
		}
	}
	choice.IP, choice.Interface, choice.Rule = found[at].addr.String(), found[at].name, rule
	return true
}

func (c *Choice) reject(name, address, reason string) {
	c.Rejected = append(c.Rejected, Rejected{Interface: name, Address: address, Reason: reason})
}

func names(interfaces []Interface) string {
	all := make([]string, 0, len(interfaces))
	for _, i := range interfaces {
		all = append(all, i.Name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
