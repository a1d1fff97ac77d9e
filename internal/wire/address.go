package wire

import (
	"math"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
)

// ParseIP checks the address of an instance and returns the one spelling it is
// stored under (server case SB-02): IPv6, bare or in brackets, in canonical form
// without brackets and an IPv4 address inside IPv6 as IPv4; text of digits and
// dots must be an IPv4 address in ASCII, legacy short forms included, and stays as
// it is; everything else is a host name, whose labels of letters, digits, '-' and
// '_' have 1 to 63 bytes and no '-' at either end. No address is longer than a
// host name can be. A malformed one is a [BadRequest]. The usual IPv4 literal
// costs no allocation.
func ParseIP(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", BadRequest("Param 'ip' is required.")
	case len(text) > maxAddress:
		return "", BadRequestf("The address(%q) is longer than %d bytes.", Excerpt(text), maxAddress)
	case text[0] == '[' || strings.IndexByte(text, ':') >= 0:
		return parseIPv6(text)
	case strings.IndexFunc(text, notIPv4Rune) < 0:
		if !isIPv4(text) {
			return "", BadRequestf("The IPv4 address(%q) is incorrect.", Excerpt(text))
		}
		return text, nil
	case !isHostName(text):
		return "", BadRequestf("The host name(%q) is incorrect.", Excerpt(text))
	}
	return text, nil
}

func parseIPv6(text string) (string, error) {
	bare := text
	if bare[0] == '[' && bare[len(bare)-1] == ']' {
		bare = bare[1 : len(bare)-1]
	}
	addr, err := netip.ParseAddr(bare)
	if err != nil || !addr.Is6() || strings.ContainsFunc(addr.Zone(), notHostRune) {
		return "", BadRequestf("The IPv6 address(%q) is incorrect.", Excerpt(text))
	}
	if addr.Is4In6() {
		return addr.Unmap().String(), nil
	}
	var buf [64]byte
	if canonical := addr.AppendTo(buf[:0]); string(canonical) != bare {
		return string(canonical), nil
	}
	return bare, nil
}

// Limits of host names in bytes (RFC 1035).
const (
	maxAddress = 253
	maxLabel   = 63
)

// isHostName accepts one dot at the end.
func isHostName(text string) bool {
	for label := range strings.SplitSeq(strings.TrimSuffix(text, "."), ".") {
		if label == "" || len(label) > maxLabel || strings.ContainsFunc(label, notHostRune) ||
			label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// notIPv4Rune takes the digits of every script for those of an IPv4 address: some
// clients read them as such, and no host name consists of them.
func notIPv4Rune(r rune) bool { return r != '.' && !unicode.IsDigit(r) }

func notHostRune(r rune) bool {
	return r != '-' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// isIPv4 accepts one to four decimal parts of which the last fills the bytes
// that are left, as inet_aton and Java do; text has only digits and dots.
func isIPv4(text string) bool {
	for left := 4; left > 0; left-- {
		part, rest, more := strings.Cut(text, ".")
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return false
		}
		if !more {
			return n < 1<<(8*left)
		}
		if n > math.MaxUint8 {
			return false
		}
		text = rest
	}
	return false
}

// ParsePort reads a port, 0 to 65535; 0 is a port like any other (server case
// SB-03).
func ParsePort(text string) (int, error) {
	port, err := parseInt(text)
	if err != nil {
		return 0, err
	}
	return port, CheckPort(port)
}

// CheckPort says whether port is within 0 to 65535, by a [BadRequest] if not.
func CheckPort(port int) error {
	if port < 0 || port > math.MaxUint16 {
		return BadRequestf("instance format invalid: The ports range from 0 to 65535, current: %d", port)
	}
	return nil
}

// ParseWeight reads a weight and checks it; blank is 1.
func ParseWeight(text string) (float64, error) {
	if text == "" {
		return 1, nil
	}
	w, err := parseFloat(text)
	if err != nil {
		return 0, err
	}
	return w, CheckWeight(w)
}

// Limits of a weight that takes traffic; 0 takes none.
const (
	minWeight = 0.01
	maxWeight = 10000
)

// CheckWeight says whether w is a finite number from 0 to 10000, by a
// [BadRequest] if not.
func CheckWeight(w float64) error {
	if w >= 0 && w <= maxWeight { // false for NaN
		return nil
	}
	return BadRequest("instance format invalid: The weights range from 0.0 to 10000.0")
}

// ClampWeight brings any number into the range of weights: above 0 at least
// 0.01, at most 10000; what is negative or no number becomes 0.
func ClampWeight(w float64) float64 {
	switch {
	case !(w > 0): // false for NaN
		return 0
	case w < minWeight:
		return minWeight
	}
	return min(w, maxWeight)
}

// ParseCluster checks a cluster name; blank is DEFAULT.
func ParseCluster(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return DefaultCluster, nil
	}
	for i := range len(text) {
		if c := text[i]; c != '-' && !isAlphanumeric(c) {
			return "", BadRequestf("cluster name can only have these characters: 0-9a-zA-Z-, current: %s", Excerpt(text))
		}
	}
	return text, nil
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// InstanceID is the id of an instance without a generator of its own:
// ip#port#cluster#group@@name.
func InstanceID(ip string, port int, cluster, groupedName string) string {
	b := make([]byte, 0, len(ip)+len(cluster)+len(groupedName)+8)
	b = append(append(b, ip...), '#')
	b = append(strconv.AppendInt(b, int64(port), 10), '#')
	b = append(append(b, cluster...), '#')
	return string(append(b, groupedName...))
}
