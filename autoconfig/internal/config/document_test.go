package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type blockProps struct {
	ServerAddr string            `mapstructure:"server-addr"`
	Port       int               `mapstructure:"port"`
	Metadata   map[string]string `mapstructure:"metadata"`
	List       []string          `mapstructure:"list"`
	Inner      struct {
		IPType string `mapstructure:"ip-type"`
	} `mapstructure:"inner"`
}

func parse(t *testing.T, text string) *document {
	t.Helper()
	s := newSchema()
	require.NoError(t, s.addBlock("cloud.demo", &blockProps{}))
	d, err := parseDocument("app.yaml", []byte(text), s)
	require.NoError(t, err)
	return d
}

func TestDocument_KeysInAnySpelling(t *testing.T) {
	for name, text := range map[string]string{
		"kebab":          "cloud: {demo: {server-addr: h}}",
		"camel":          "cloud: {demo: {serverAddr: h}}",
		"snake":          "cloud: {demo: {server_addr: h}}",
		"flat":           "cloud.demo.server-addr: h",
		"half flat":      "cloud.demo: {serverAddr: h}",
		"flat inside":    "cloud: {demo.server-addr: h}",
		"below spring":   "spring: {cloud: {demo: {server-addr: h}}}",
		"spring, flat":   "spring.cloud.demo.server-addr: h",
		"through anchor": "x: &x {server-addr: h}\ncloud: {demo: *x}",
		"through merge":  "x: &x {server-addr: h}\ncloud: {demo: {<<: *x}}",
	} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, text)
			require.Empty(t, d.errs)
			require.Equal(t, "h", d.known["cloud.demo.server-addr"].text)
			require.Equal(t, name == "below spring" || name == "spring, flat", d.spring != "")
		})
	}
}

func TestDocument_MergedKeysAreOverridden(t *testing.T) {
	d := parse(t, "x: &x {server-addr: weak, port: 1}\ncloud: {demo: {<<: *x, serverAddr: strong}}")
	require.Empty(t, d.errs)
	require.Equal(t, "strong", d.known["cloud.demo.server-addr"].text)
	require.Equal(t, "1", d.known["cloud.demo.port"].text)
}

func TestDocument_MapKeysAreKeptCaseExact(t *testing.T) {
	for name, text := range map[string]string{
		"nested": "cloud: {demo: {metadata: {gRPC_port: 1, preserved.heart.beat.interval: 1.10, IPv6: null}}}",
		"flat":   "cloud.demo.metadata.gRPC_port: 1\ncloud.demo.metadata.preserved.heart.beat.interval: 1.10\ncloud.demo.metadata.IPv6:",
		"both":   "cloud: {demo: {metadata: {gRPC_port: 1}}}\ncloud.demo.metadata.preserved.heart.beat.interval: 1.10\ncloud.demo.metadata.IPv6:",
	} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, text)
			require.Empty(t, d.errs)
			require.Equal(t, "{gRPC_port: 1, preserved.heart.beat.interval: 1.10, IPv6: }", d.known["cloud.demo.metadata"].String())
		})
	}
}

func TestDocument_Mistakes(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"twice":             {"cloud.demo:\n  port: 1\n  Port: 2", `cloud.demo.port: "2" is set twice, first at app.yaml:2 (app.yaml:3)`},
		"twice below":       {"cloud.demo.port: 1\nspring:\n  cloud: {demo: {port: 2}}", `cloud.demo.port: "2" is set twice, first at app.yaml:1 (app.yaml:3)`},
		"value for a block": {"cloud:\n  demo: 5", `cloud.demo: "5" is a value where a block of keys is expected (app.yaml:2)`},
		"block for a value": {"cloud.demo.port: {a: b}", `cloud.demo.port: "{a: b}" is a block of keys where one value is expected (app.yaml:1)`},
		"map key twice":     {"cloud.demo.metadata: {a: 1}\ncloud.demo.metadata.a: 2", `cloud.demo.metadata.a: "2" is set twice, first at app.yaml:1 (app.yaml:2)`},
	} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, c.text)
			require.Len(t, d.errs, 1)
			require.Equal(t, c.want, d.errs[0].Error())
		})
	}
}

func TestDocument_UnreadableNamesFileAndLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"tab":           {"a:\n\tb: 1", "app.yaml: line 2"},
		"unclosed":      {"a: 1\nb: [1, 2", "app.yaml: line 2"},
		"bad indent":    {"a:\n  b: 1\n c: 2", "app.yaml: line 3"},
		"first line":    {"a: 'b' c", "app.yaml: line 1"},
		"a list":        {"- 1\n- 2", "app.yaml:1: the document must be a map of keys"},
		"two documents": {"a: 1\n---\na: 2", "app.yaml: line 2: a second document begins here"},
		"unknown alias": {"a: *b", "app.yaml: unknown anchor 'b' referenced"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseDocument("app.yaml", []byte(c.text), newSchema())
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestDocument_AliasesThatGrowWithoutBoundAreAnError(t *testing.T) {
	bomb := "a0: &a0 [x]\n"
	for i := range 9 {
		ref := fmt.Sprintf("*a%d", i)
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(ref+",", 10), ","))
	}
	for name, text := range map[string]string{"bomb": bomb, "circle": "a: &a {b: *a}", "circle in a list": "a: &a [*a]", "circle by merge": "a: &a {<<: *a}"} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, text)
			require.Len(t, d.errs, 1)
			require.ErrorContains(t, d.errs[0], "nested more than 64 deep, or more than 100000 values")
		})
	}
}

func TestDocument_EmptyOnesAreFine(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "cloud:\n", "cloud: {demo: }"} {
		d := parse(t, text)
		require.Empty(t, d.errs, text)
		require.Empty(t, d.known, text)
	}
}

func TestDocument_UnknownKeysBelowOurPrefixesOnly(t *testing.T) {
	d := parse(t, "mine: {serverAddrr: x}\ncloud: {other: 1, demo: {serverAddrr: h, inner: {x: {y: 1}}}}")
	var keys []string
	for _, u := range d.unknown {
		keys = append(keys, u.key+" "+u.origin)
	}
	require.Equal(t, []string{"cloud.demo.serverAddrr app.yaml:2", "cloud.demo.inner.x app.yaml:2"}, keys)
}

func TestDocument_ABlockAtTheTopWithALetterWrong(t *testing.T) {
	for text, strays := range map[string]int{
		"cluod: {demo: {port: 1}}": 1, "clod.demo.port: 1": 0, "cold: {demo: 1}": 1, // the name below is known
		"could: {mine: 1}": 0, "clouds: 5": 0, "mine: {demo: {port: 1}}": 0,
	} {
		require.Len(t, parse(t, text).unknown, strays, text)
	}
}

func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"cloud: {demo: {port: 1}}", "spring.cloud.demo.port: 1", "a: &a [*a]", "a: &a {b: *a}", "<<: {cloud.demo.port: 2}",
		"cloud.demo.metadata: {a: {b: c}}", "? [a]\n: b", "cloud: {demo: {metadata: x}}", "cloud.demo.metadata.a: {b: [1]}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		props := blockProps{}
		c, err := Load(Sources{Text: text + "\n"}, Block{"cloud.demo", &props})
		if err == nil {
			_ = c.Err()
		}
	})
}
