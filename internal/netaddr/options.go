package netaddr

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"
)

// The values of [Options.IPType].
const (
	IPv4 = "IPv4"
	IPv6 = "IPv6"
)

// The configuration keys that errors name.
const (
	keyIP        = "cloud.nacos.discovery.ip"
	keyIPType    = "cloud.nacos.discovery.ip-type"
	keyInterface = "cloud.nacos.discovery.network-interface"
	keyIgnored   = "cloud.inetutils.ignored-interfaces"
	keyPreferred = "cloud.inetutils.preferred-networks"
	keyDefaultIP = "cloud.inetutils.default-ip-address"
)

// Options say how [Select] chooses.
type Options struct {
	// IP is the address to take whatever the interfaces are: an IP literal, with
	// or without brackets, or a host name, which is not looked up. "" leaves the
	// choice to the rules below.
	IP string
	// PodIPEnv names the environment variable that carries the address when the
	// platform knows it better than the interfaces do (Kubernetes' downward
	// API). "" looks at none.
	PodIPEnv string
	// Interface is the name of the interface to take the address from, even if
	// it is down, loopback or point-to-point. "" scans all.
	Interface string
	// ListenIP is the address that the web server listens on, when it is one
	// address and not all: nobody can reach another one. An IP literal; anything
	// else, the unspecified address included, leaves the choice to the scan.
	ListenIP string
	// IPType is IPv4, IPv6 (which falls back to IPv4 with a warning) or "", which
	// takes IPv4 where there is one and reports an IPv6 address beside it.
	IPType string
	// IgnoredInterfaces are regular expressions; the scan leaves out every
	// interface whose whole name matches one.
	IgnoredInterfaces []string
	// PreferredNetworks, when not empty, limit the scan to addresses that match
	// one of them; an earlier entry is preferred to a later one. An entry is a
	// CIDR ("10.1.0.0/16"), the beginning of an address' text ("10.1.") or a
	// regular expression for the whole text.
	PreferredNetworks []string
	// SiteLocalOnly limits the scan to private addresses (RFC 1918, and fc00::/7
	// for IPv6). PreferredNetworks are then not consulted.
	SiteLocalOnly bool
	// DefaultIP is taken when nothing else is found; an IP literal, "" means
	// 127.0.0.1.
	DefaultIP string
	// LookupEnv reads the environment; nil means os.LookupEnv.
	LookupEnv func(name string) (value string, found bool)
}

// DefaultOptions returns what applies to an application that configures
// nothing: POD_IP, then a scan without the interfaces of
// [DefaultIgnoredInterfaces].
func DefaultOptions() Options {
	return Options{
		PodIPEnv:          "POD_IP",
		IgnoredInterfaces: DefaultIgnoredInterfaces(),
		DefaultIP:         "127.0.0.1",
	}
}

// DefaultIgnoredInterfaces returns the names of interfaces that containers,
// virtual machines and VPNs make: addresses on them are rarely reachable from
// another host (rule B-R1, client case 2).
func DefaultIgnoredInterfaces() []string {
	return []string{
		"docker.*", "veth.*", "br-.*", "cni.*", "flannel.*", "virbr.*",
		"vmnet.*", "vboxnet.*", "tun.*", "utun.*", "kube-ipvs.*",
	}
}

// Validate reports everything that is wrong with o, each by its configuration
// key. It does not look at interfaces or the environment.
func (o Options) Validate() error {
	_, err := o.compile()
	return err
}

// rules is a validated Options.
type rules struct {
	Options
	ip, defaultIP string
	ignored       []*regexp.Regexp
	preferred     []network
}

func (o Options) compile() (rules, error) {
	c := rules{Options: o}
	var problems []error
	problem := func(key, value string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %q: %w", key, value, err))
		}
	}
	var err error

	if o.IP != "" {
		c.ip, err = parseHost(o.IP)
		problem(keyIP, o.IP, err)
	}
	switch {
	case o.IPType == "":
	case strings.EqualFold(o.IPType, IPv4):
		c.IPType = IPv4
	case strings.EqualFold(o.IPType, IPv6):
		c.IPType = IPv6
	default:
		problem(keyIPType, o.IPType, errors.New("allowed are IPv4, IPv6 and empty"))
	}
	for _, pattern := range o.IgnoredInterfaces {
		re, err := fullMatch(pattern)
		problem(keyIgnored, pattern, err)
		c.ignored = append(c.ignored, re)
	}
	for _, pattern := range o.PreferredNetworks {
		n, err := parseNetwork(pattern)
		problem(keyPreferred, pattern, err)
		c.preferred = append(c.preferred, n)
	}
	if c.DefaultIP == "" {
		c.DefaultIP = "127.0.0.1"
	}
	addr, err := parseAddr(c.DefaultIP)
	problem(keyDefaultIP, c.DefaultIP, err)
	c.defaultIP = addr.String()
	if c.LookupEnv == nil {
		c.LookupEnv = os.LookupEnv
	}
	return c, errors.Join(problems...)
}

// CheckHost refuses what no registration may carry as its address: anything but
// an IP literal, with or without brackets, that others can send to, or a host
// name; both without port and scheme.
func CheckHost(text string) error {
	if strings.TrimSpace(text) != text {
		return errors.New("has blanks around it")
	}
	_, err := parseHost(text)
	return err
}

// parseHost accepts what a registration may carry as its address: an IP literal
// or a host name. It refuses what looks like either with a port or a scheme.
func parseHost(text string) (string, error) {
	text = strings.TrimSpace(text)
	if addr, err := parseAddr(text); err == nil {
		return addr.String(), nil
	} else if strings.ContainsAny(text, ":[]%") || looksNumeric(text) {
		return "", err
	}
	if text == "" || strings.ContainsFunc(text, notHostRune) {
		return "", errors.New("is neither an IP address nor a host name")
	}
	return text, nil
}

// parseAddr reads an IP literal, with or without brackets, that others can
// send to.
func parseAddr(text string) (netip.Addr, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	}
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return netip.Addr{}, errors.New("is not an IP address")
	case addr.Zone() != "":
		return netip.Addr{}, errors.New("has a zone, which means nothing on another host")
	case addr.IsUnspecified() || addr.IsMulticast():
		return netip.Addr{}, errors.New("is not the address of a host")
	}
	return addr.Unmap(), nil
}

// looksNumeric reports whether text was meant as a dotted IPv4 address.
func looksNumeric(text string) bool {
	return text != "" && strings.Trim(text, "0123456789.") == ""
}

func notHostRune(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
		return false
	}
	return true
}

func fullMatch(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(`^(?:` + pattern + `)$`)
	if err != nil {
		return nil, errors.New("is not a regular expression")
	}
	return re, nil
}
