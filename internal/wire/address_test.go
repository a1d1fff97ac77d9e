package wire

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSB02_Addresses(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.10":            "192.0.2.10",
		" 192.0.2.10 ":          "192.0.2.10",
		"1.2.3":                 "1.2.3",
		"1":                     "1",
		"1.16777215":            "1.16777215",
		"2001:db8::5":           "2001:db8::5",
		"2001:0db8:0:0:0:0:0:5": "2001:db8::5",
		"2001:DB8::5":           "2001:db8::5",
		"[2001:db8::5]":         "2001:db8::5",
		"::ffff:192.0.2.1":      "192.0.2.1",
		"fe80::1%eth0":          "fe80::1%eth0",
		"::1":                   "::1",
		"orders-1.example":      "orders-1.example",
		"under_score":           "under_score",
		"bücher.example":        "bücher.example",
		"1.2.3.4.example":       "1.2.3.4.example",
		"host.example.":         "host.example.",
		"::ffff:c000:201":       "192.0.2.1",
		"[fe80::1%eth0]":        "fe80::1%eth0",
		"::":                    "::",

		strings.Repeat("a", 63) + ".example": strings.Repeat("a", 63) + ".example",
	} {
		got, err := ParseIP(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		again, err := ParseIP(got)
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for text, why := range map[string]string{
		"":                  "Param 'ip' is required.",
		"  ":                "Param 'ip' is required.",
		"300.1.1.1":         `The IPv4 address("300.1.1.1") is incorrect.`,
		"1.2.3.4.5":         "is incorrect",
		"1..2":              "is incorrect",
		".":                 "is incorrect",
		"1.16777216":        "is incorrect",
		"4294967296":        "is incorrect",
		"99999999999999999": "is incorrect",
		"2001:db8:::5":      `The IPv6 address("2001:db8:::5") is incorrect.`,
		"１２７.０.０.１":         `The IPv4 address("１２７.０.０.１") is incorrect.`,
		"٣.٣.٣.٣":           "The IPv4 address",
		"[192.0.2.1]":       "is incorrect",
		"[":                 "is incorrect",
		"[]":                "is incorrect",
		"[::1":              "is incorrect",
		"192.0.2.1:80":      "is incorrect",
		"fe80::1%e h":       "is incorrect",
		"a b":               "The host name",
		"<script>":          "The host name",
		"a#b":               "The host name",
		"a..b":              "The host name",
		".a":                "The host name",
		"a..":               "The host name",
		"-a":                "The host name",
		"192.0.2.-1":        "The host name",
		"a-.example":        "The host name",
		"%":                 "The host name",
		"[host]":            "is incorrect",
		"::1]":              "is incorrect",
		"fe80::1%":          "is incorrect",

		strings.Repeat("a", 64):               "The host name",
		strings.Repeat("a.", 127):             "longer than 253 bytes",
		"fe80::1%" + strings.Repeat("z", 250): "longer than 253 bytes",
		strings.Repeat("0", 300) + "1":        "longer than 253 bytes",
	} {
		_, err := ParseIP(text)
		requireBadRequest(t, err, why)
	}
}

func FuzzParseIP(f *testing.F) {
	for _, seed := range []string{"192.0.2.1", "[2001:db8::5]", "fe80::1%eth0", "host", "1.2.3", "::ffff:1.2.3.4"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ip, err := ParseIP(text)
		if err != nil {
			requireBadRequest(t, err, "")
			return
		}
		again, err := ParseIP(ip)
		require.NoError(t, err)
		require.Equal(t, ip, again, "the stored form is its own")
		require.NotContains(t, ip, "#")
		require.NotContains(t, ip, "\x00")
	})
}

func TestSB03_PortsAndWeights(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "80": 80, "65535": 65535} {
		got, err := ParsePort(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"-1", "65536", "abc", "", "1.5", "99999999999"} {
		_, err := ParsePort(text)
		requireBadRequest(t, err, "")
	}
	for text, want := range map[string]float64{"": 1, "0": 0, "10000": 10000, "0.5": 0.5, "1e-9": 1e-9} {
		got, err := ParseWeight(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"NaN", "Infinity", "-Infinity", "-1", "10001", "1e309"} {
		_, err := ParseWeight(text)
		requireBadRequest(t, err, "The weights range from 0.0 to 10000.0")
	}
	for _, text := range []string{"abc", "0x10", "1_0"} {
		_, err := ParseWeight(text)
		requireBadRequest(t, err, "For input string")
	}
	for w, want := range map[float64]float64{
		0: 0, 0.001: 0.01, 0.01: 0.01, 5: 5, 10000: 10000, 1e9: 10000, -1: 0, math.Inf(1): 10000, math.Inf(-1): 0,
	} {
		require.Equal(t, want, ClampWeight(w))
	}
	require.Zero(t, ClampWeight(math.NaN()))
}

func TestParseCluster(t *testing.T) {
	for text, want := range map[string]string{"": "DEFAULT", "  ": "DEFAULT", "Beijing-1": "Beijing-1", "None": "None"} {
		got, err := ParseCluster(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"a_b", "a.b", "a b", "ä", `"><script>`} {
		_, err := ParseCluster(text)
		requireBadRequest(t, err, "cluster name can only have these characters: 0-9a-zA-Z-, current: "+text)
	}
}

func TestInstanceID(t *testing.T) {
	require.Equal(t, "10.0.0.7#8080#DEFAULT#DEFAULT_GROUP@@orders", InstanceID("10.0.0.7", 8080, "DEFAULT", "DEFAULT_GROUP@@orders"))
}
