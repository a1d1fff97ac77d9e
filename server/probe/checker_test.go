package probe

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestParseChecker(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Checker
	}{
		{"TCP", `{"type":"TCP"}`, Checker{Type: TCP}},
		{"none", `{"type":"NONE"}`, Checker{Type: None}},
		{"HTTP", `{"type":"HTTP","path":"/ok","headers":"k:v|k2:v2","expectedResponseCode":204}`, Checker{Type: HTTP, Path: "/ok", Headers: "k:v|k2:v2", ExpectedStatus: 204}},
		{"HTTP as the console sends it", ` {"type":"HTTP","path":"","headers":"","expectedResponseCode":"200"} `, Checker{Type: HTTP, ExpectedStatus: 200}},
		{"HTTP with nothing", `{"type":"HTTP"}`, Checker{Type: HTTP}},
		{"HTTP with nulls", `{"type":"HTTP","path":null,"headers":null,"expectedResponseCode":null}`, Checker{Type: HTTP}},
		{"MySQL", `{"type":"MYSQL","user":"u","pwd":"p|:\"","cmd":" select 1 "}`, Checker{Type: MySQL, User: "u", Password: `p|:"`, Command: "select 1"}},
		{"case of the type", `{"type":"http"}`, Checker{Type: HTTP}},
		{"unknown type", `{"type":"GRPC","path":"/x"}`, Checker{Type: None}},
		{"empty type", `{"type":""}`, Checker{Type: None}},
		{"members of other types", `{"type":"TCP","path":"/x","pwd":"p","more":[1]}`, Checker{Type: TCP}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseChecker(tt.text)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestParseChecker_Refuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":              "",
		"no JSON":              "TCP",
		"half":                 `{"type":"TCP"`,
		"more than one":        `{"type":"TCP"}{"type":"TCP"}`,
		"rest":                 `{"type":"TCP"}]`,
		"array":                `[{"type":"TCP"}]`,
		"null":                 `null`,
		"no type":              `{"path":"/"}`,
		"type that is no text": `{"type":1}`,
		"null type":            `{"type":null}`,
		"status in words":      `{"type":"HTTP","expectedResponseCode":"ok"}`,
		"status out of range":  `{"type":"HTTP","expectedResponseCode":99}`,
		"interim status":       `{"type":"HTTP","expectedResponseCode":100}`,
		"path with a space":    `{"type":"HTTP","path":"/a b"}`,
		"path with a line":     `{"type":"HTTP","path":"/a\r\nX: y"}`,
		"path, bad escape":     `{"type":"HTTP","path":"/%zz"}`,
		"header without colon": `{"type":"HTTP","headers":"k"}`,
		"header without name":  `{"type":"HTTP","headers":":v"}`,
		"header name":          `{"type":"HTTP","headers":"k k:v"}`,
		"header with a line":   `{"type":"HTTP","headers":"k:v\nx:y"}`,
		"header of the body":   `{"type":"HTTP","headers":"content-length:5"}`,
		"no command":           `{"type":"MYSQL","user":"u"}`,
		"too long":             `{"type":"TCP","x":"` + strings.Repeat("x", maxCheckerSize) + `"}`,
		"markup":               `"><script>alert(1)</script>` + strings.Repeat("x", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseChecker(text)
			var bad wire.BadRequest
			require.ErrorAs(t, err, &bad)
			require.Less(t, len(err.Error()), 250, "only a part is repeated")
		})
	}
}

func TestChecker_JSON(t *testing.T) {
	for want, c := range map[string]Checker{
		`{"type":"TCP"}`:  {},
		`{"type":"NONE"}`: {Type: None, Path: "/x"},
		`{"type":"HTTP","path":"","headers":"","expectedResponseCode":200}`:         {Type: HTTP},
		`{"type":"HTTP","path":"/ok","headers":"k:v","expectedResponseCode":204}`:   {Type: HTTP, Path: "/ok", Headers: "k:v", ExpectedStatus: 204},
		`{"type":"MYSQL","user":"u","pwd":"p","cmd":"select 1"}`:                    {Type: MySQL, User: "u", Password: "p", Command: "select 1"},
		`{"type":"MYSQL","user":"","pwd":"","cmd":"show status where x='y\u003e'"}`: {Type: MySQL, Command: "show status where x='y>'"},
	} {
		got, err := json.Marshal(c)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	secret := Checker{Type: MySQL, User: "u", Password: "p", Command: "select 1"}
	shown, err := json.Marshal(secret.WithoutPassword())
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"MYSQL","user":"u","pwd":"","cmd":"select 1"}`, string(shown))

	var c Checker
	require.NoError(t, json.Unmarshal([]byte(`{"type":"HTTP","path":"/x"}`), &c))
	require.Equal(t, Checker{Type: HTTP, Path: "/x"}, c)
	require.Error(t, json.Unmarshal([]byte(`{"type":"HTTP","path":"/x y"}`), &c))
}

func FuzzParseChecker(f *testing.F) {
	for _, seed := range []string{
		`{"type":"TCP"}`, `{"type":"NONE"}`, `{"type":"HTTP","path":"/ok?a=b","headers":"k:v|Host:a:1","expectedResponseCode":"204"}`,
		`{"type":"MYSQL","user":"u","pwd":"p","cmd":"show global variables where variable_name='read_only'"}`,
		`{"type":"HTTP","path":"@evil/"}`, `{"type":"HTTP","path":"//evil/"}`, `{"TYPE":"http","Path":"/%2f"}`, `null`, `[]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseChecker(text)
		if err != nil {
			return
		}
		encoded, err := json.Marshal(c)
		require.NoError(t, err)
		again, err := ParseChecker(string(encoded))
		if len(encoded) <= maxCheckerSize {
			require.NoError(t, err, "%s", encoded)
			second, err := json.Marshal(again)
			require.NoError(t, err)
			require.Equal(t, string(encoded), string(second))
		}
		a, err := newAsker(c)
		require.NoError(t, err)
		if h, ok := a.(*httpAsker); ok {
			require.Empty(t, h.target.Host)
			require.Empty(t, h.target.Scheme)
			require.Nil(t, h.target.User)
		}
	})
}
