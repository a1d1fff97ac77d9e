package netaddr_test

import (
	"net/netip"
	"testing"

	"github.com/rollcall-go/rollcall/internal/netaddr"
)

// FuzzExplicitIP: whatever passes as an explicit address is a literal in its
// canonical form or a plain host name.
func FuzzExplicitIP(f *testing.F) {
	for _, seed := range []string{"10.0.0.1", "[::1]", "::ffff:10.0.0.1", "host", "1.2.3", "fe80::1%x", "[", "a b", "::", "ff02::1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return
		}
		got, err := netaddr.Select(defaults(func(o *netaddr.Options) { o.IP = text }), fake{})
		if err != nil {
			return
		}
		if addr, err := netip.ParseAddr(got.IP); err == nil {
			if addr.String() != got.IP || addr.IsUnspecified() || addr.IsMulticast() || addr.Zone() != "" || addr.Is4In6() {
				t.Errorf("%q gives %q", text, got.IP)
			}
			return
		}
		for _, r := range got.IP {
			if r == ':' || r == '[' || r == '%' || r == '/' || r <= ' ' || r > '~' {
				t.Errorf("%q gives %q", text, got.IP)
			}
		}
	})
}
