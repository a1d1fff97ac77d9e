package wire

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSB01_Metadata(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":     {},
		" ":    {},
		"null": {},
		"{}":   {},
		`{"methods":"add,sub","q":"a=b&c=d","note":"say \"hi\" 你好","empty":"","lines":"a\nb"}`: {
			"methods": "add,sub", "q": "a=b&c=d", "note": `say "hi" 你好`, "empty": "", "lines": "a\nb",
		},
		`{"n":1,"f":1.50,"e":1e3,"t":true,"b":false,"nil":null}`: {
			"n": "1", "f": "1.50", "e": "1e3", "t": "true", "b": "false", "nil": "",
		},
		"k=v":               {"k": "v"},
		"k=v,l=w":           {"k": "v", "l": "w"},
		"url=http://h/?a=1": {"url": "http://h/?a=1"},
	} {
		got, err := ParseMetadata(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, why := range map[string]string{
		"methods=add,sub": `"sub" is not of the form key=value`,
		"k=":              `"k=" is not of the form key=value`,
		"=v":              `"=v" is not of the form key=value`,
		"k=v,":            `"" is not of the form key=value`,
		"k":               "metadata format incorrect:k",
		`{"a":{"b":"c"}}`: "nested values are not supported",
		`{"a":["b"]}`:     "nested values are not supported",
		`{"a":"b=c"`:      "metadata format incorrect",
		"{a=b}":           "metadata format incorrect",
		"[1]":             "metadata format incorrect",
		"5":               "metadata format incorrect:5",
		`"a=b"`:           "metadata format incorrect",
		"true":            "metadata format incorrect",
	} {
		_, err := ParseMetadata(text)
		requireBadRequest(t, err, why)
		requireBadRequest(t, err, "metadata format incorrect:")
	}
	_, err := ParseMetadata(strings.Repeat("x", 10_000))
	require.Less(t, len(err.Error()), 400, "input is repeated only in part")
}

func TestMetadata_RoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "metadata")
		text := EncodeMetadata(m)
		got, err := ParseMetadata(text)
		if err != nil || !maps.Equal(got, m) {
			t.Fatalf("%s: %v %v", text, got, err)
		}
	})
}

func FuzzParseMetadata(f *testing.F) {
	for _, seed := range []string{`{"a":"b"}`, "k=v,l=w", "null", `{"a":{}}`, `{"a":1e9}`, "{", "k==v"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMetadata(text)
		if err != nil {
			requireBadRequest(t, err, "metadata format incorrect")
			return
		}
		require.NotNil(t, m)
		encoded := EncodeMetadata(m)
		require.True(t, json.Valid([]byte(encoded)), encoded)
		if !utf8.ValidString(text) {
			return
		}
		again, err := ParseMetadata(encoded)
		require.NoError(t, err)
		require.Equal(t, m, again)
	})
}
