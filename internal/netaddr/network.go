package netaddr

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
)

// network is one entry of [Options.PreferredNetworks].
type network struct {
	cidr    netip.Prefix
	prefix  string
	pattern *regexp.Regexp
}

// parseNetwork reads a CIDR, or else text that is both a prefix and a regular
// expression: Spring's two meanings, which cannot be told apart ("10.1" is both)
// and need not be.
func parseNetwork(text string) (network, error) {
	if cidr, err := netip.ParsePrefix(text); err == nil {
		return network{cidr: cidr.Masked()}, nil
	}
	if strings.Contains(text, "/") {
		return network{}, errors.New("is not a CIDR such as 10.1.0.0/16") // and matches no address
	}
	pattern, err := fullMatch(text)
	return network{prefix: text, pattern: pattern}, err
}

func (n network) contains(addr netip.Addr) bool {
	if n.cidr.IsValid() {
		return n.cidr.Contains(addr)
	}
	text := addr.String()
	return strings.HasPrefix(text, n.prefix) || n.pattern.MatchString(text)
}
