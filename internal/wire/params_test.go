package wire

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestParams_WhatSDKsReallySend(t *testing.T) {
	for _, c := range []struct{ name, query, body, param, want string }{
		{"escaped", "serviceName=G%40%40pay", "", "serviceName", "G@@pay"},
		{"raw", "serviceName=G@@pay", "", "serviceName", "G@@pay"},
		{"body", "", "ip=192.0.2.1&port=1", "port", "1"},
		{"split between query and body", "ip=192.0.2.1", "beat=%7B%7D", "beat", "{}"},
		{"raw JSON", "", `beat={"ip":"192.0.2.1","metadata":{"a":"b=c;d"}}&ip=x`, "beat", `{"ip":"192.0.2.1","metadata":{"a":"b=c;d"}}`},
		{"plus is a space", "v=a+b%2Bc", "", "v", "a b+c"},
		{"bad escapes stay", "v=100%&w=%zz%4", "", "v", "100%"},
		{"bad escapes stay, too", "v=100%&w=%zz%4", "", "w", "%zz%4"},
		{"no value", "v&w=1", "", "v", ""},
		{"trailing ampersand", "v=1&", "", "v", "1"},
		{"only ampersands", "&&&v=1&&", "", "v", "1"},
		{"blank is absent", "v=&v=2", "", "v", "2"},
		{"trimmed", "v=%20a%20", "", "v", "a"},
		{"the query wins", "v=query", "v=body", "v", "query"},
		{"a blank query does not", "v=", "v=body", "v", "body"},
		{"no UTF-8", "v=a%ffb", "", "v", "a\uFFFDb"},
		{"UTF-8", "v=%E4%BD%A0", "", "v", "你"},
		{"names are case-exact", "V=1", "", "v", ""},
		{"escaped name", "%76=1", "", "v", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, mustParse(t, c.query, c.body).Get(c.param))
		})
	}
}

func TestParams_Aliases(t *testing.T) {
	p := mustParse(t, "cluster=C&clusterName=+&enable=false&dom=d", "")
	require.Equal(t, "C", p.Get("clusterName", "cluster"))
	require.False(t, p.LooseBool(true, "enabled", "enable"))
	name, err := p.ServiceName()
	require.NoError(t, err)
	require.Equal(t, "DEFAULT_GROUP@@d", name.String())
}

func TestParams_Required(t *testing.T) {
	p := mustParse(t, "port=x&empty=", "")
	_, err := p.Required("ip")
	requireBadRequest(t, err, "Param 'ip' is required.")
	_, err = p.Required("empty")
	requireBadRequest(t, err, "Param 'empty' is required.")
	_, err = p.RequiredCount("ip")
	requireBadRequest(t, err, "Required int parameter 'ip' is not present")
	_, err = p.RequiredCount("port")
	requireBadRequest(t, err, `For input string: "x"`)
}

func TestParams_ServiceKey(t *testing.T) {
	key, err := mustParse(t, "serviceName=s&groupName=G&namespaceId=", "").ServiceKey()
	require.NoError(t, err)
	require.Equal(t, "public/G@@s", key.String())
	key, err = mustParse(t, "serviceName=s&namespaceId=my+space", "").ServiceKey()
	require.NoError(t, err)
	require.Equal(t, "my space", key.Namespace)
	_, err = mustParse(t, "serviceName=s&namespaceId=a%00b", "").ServiceKey()
	requireBadRequest(t, err, "control characters")
	_, err = mustParse(t, "namespaceId=a", "").ServiceKey()
	requireBadRequest(t, err, "Param 'serviceName' is required.")
}

func TestParams_Booleans(t *testing.T) {
	for text, want := range map[string]struct{ loose, strict, spring, springFails bool }{
		"true":  {loose: true, strict: true, spring: true},
		"True":  {loose: true, strict: true, spring: true},
		"TRUE":  {loose: true, strict: true, spring: true},
		"t":     {loose: true, springFails: true},
		"yes":   {loose: true, spring: true},
		"y":     {loose: true, springFails: true},
		"on":    {loose: true, spring: true},
		"1":     {spring: true},
		"0":     {},
		"false": {},
		"False": {},
		"off":   {},
		"no":    {},
		"x":     {springFails: true},
	} {
		p := mustParse(t, "v="+text, "")
		require.Equal(t, want.loose, p.LooseBool(!want.loose, "v"), text)
		require.Equal(t, want.strict, p.StrictBool("v"), text)
		got, err := p.SpringBool("v")
		if want.springFails {
			requireBadRequest(t, err, "Failed to convert value")
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want.spring, got, text)
	}
	var none Params
	require.True(t, none.LooseBool(true, "v"))
	require.False(t, none.StrictBool("v"))
	absent, err := none.SpringBool("v")
	require.NoError(t, err)
	require.False(t, absent)
}

func TestSB10_CountsHaveNoLargest(t *testing.T) {
	for text, want := range map[string]int{
		"7": 7, "-7": -7, "+7": 7, "2147483647": math.MaxInt32, "2147483648": math.MaxInt32,
		"9999999999999999999999": math.MaxInt32, "-9999999999999999999999": math.MinInt32,
	} {
		p := mustParse(t, "v="+url.QueryEscape(text), "")
		got, err := p.RequiredCount("v")
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		require.Equal(t, want, p.LenientCount("v"))
	}
	for _, text := range []string{"x", "1.0", "0x7", "1_0", "NaN"} {
		p := mustParse(t, "v="+text, "")
		_, err := p.RequiredCount("v")
		requireBadRequest(t, err, "For input string: "+strconv.Quote(text))
		require.Zero(t, p.LenientCount("v"))
	}
	require.Zero(t, mustParse(t, "", "").LenientCount("v"))
	_, err := mustParse(t, "", "").RequiredCount("v")
	requireBadRequest(t, err, "Required int parameter 'v' is not present")
}

func TestParams_Numbers(t *testing.T) {
	for text, want := range map[string]int{"7": 7, "-7": -7, "+7": 7, "2147483647": 2147483647, "": 42} {
		got, err := mustParse(t, "v="+url.QueryEscape(text), "").Int("v", 42)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"x", "1.0", "2147483648", "0x7", "1_0", "9999999999999999999999"} {
		p := mustParse(t, "v="+text, "")
		_, err := p.Int("v", 42)
		requireBadRequest(t, err, "For input string: "+strconv.Quote(text))
	}

	for text, want := range map[string]float64{"0.5": 0.5, "1": 1, "1e3": 1000, "": 42} {
		p := mustParse(t, "v="+text, "")
		got, err := p.Float("v", 42)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"x", "NaN", "Infinity", "1e309", "0x1p4", "1_0"} {
		p := mustParse(t, "v="+text, "")
		_, err := p.Float("v", 42)
		requireBadRequest(t, err, "For input string")
	}
}

func TestParams_AreBounded(t *testing.T) {
	_, err := ParseParams(strings.Repeat("a=1&", maxParams+1), nil)
	requireBadRequest(t, err, "more than 256 parameters")
	_, err = ParseParams("", make([]byte, maxParamsBytes+1))
	requireBadRequest(t, err, "longer than")
	_, err = ParseParams(strings.Repeat("&", maxParamsBytes), nil)
	require.NoError(t, err)
}

func TestParams_AnOrdinaryQueryAllocatesOnce(t *testing.T) {
	const query = "namespaceId=public&serviceName=DEFAULT_GROUP@@orders&clusterName=DEFAULT&ip=192.0.2.1&port=8080&app=shop"
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		p, err := ParseParams(query, nil)
		if err != nil || p.Get("port") != "8080" {
			t.Fatal(err)
		}
	}), 1.0)
}

func FuzzParseParams(f *testing.F) {
	for _, seed := range []string{"a=1&b=2", "a=%zz&b=%e4%bd%a0", "=&&=", `beat={"ip":"192.0.2.1"};x`, "a=+%20+", "%"} {
		f.Add(seed, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, query string, body []byte) {
		p, err := ParseParams(query, body)
		if err != nil {
			requireBadRequest(t, err, "")
			return
		}
		for _, pair := range p.pairs {
			require.True(t, utf8.ValidString(pair.name) && utf8.ValidString(pair.value))
			require.Equal(t, strings.TrimSpace(pair.value), pair.value)
		}
		// Whatever the standard library can read as well, it reads the same.
		if values, err := url.ParseQuery(query); err == nil && utf8.ValidString(query) {
			for name := range values {
				for _, value := range values[name] {
					if value = strings.TrimSpace(value); value != "" && name != "" && utf8.ValidString(name+value) {
						require.Equal(t, value, p.Get(name))
						break
					}
				}
			}
		}
	})
}

func BenchmarkParseParams(b *testing.B) {
	const query = "namespaceId=public&serviceName=DEFAULT_GROUP%40%40orders&clusterName=DEFAULT&ip=192.0.2.1&port=8080&app=shop"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseParams(query, nil); err != nil {
			b.Fatal(err)
		}
	}
}
