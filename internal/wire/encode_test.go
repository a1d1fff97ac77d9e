package wire

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMarshal_EscapesOnlyWhatJSONDemands(t *testing.T) {
	got, err := Marshal(map[string]any{"k": `a & b < c > "d"`, "f": Float(1)})
	require.NoError(t, err)
	require.Equal(t, `{"f":1.0,"k":"a & b < c > \"d\""}`, string(got))
	_, err = Marshal(Float(math.NaN()))
	require.Error(t, err)
}

func TestFloat_AlwaysHasAFraction(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", 1: "1.0", 8: "8.0", 0.5: "0.5", 10000: "10000.0", 0.01: "0.01", -2: "-2.0",
		1e-7: "1.0e-07", 1.5e-7: "1.5e-07", 1e21: "1.0e+21", 1e20: "100000000000000000000.0",
	} {
		got, err := json.Marshal(Float(v))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		var back float64
		require.NoError(t, json.Unmarshal(got, &back))
		require.Equal(t, v, back)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		_, err := json.Marshal(Float(v))
		require.Error(t, err)
		require.Equal(t, "0.0", string(appendFloat(nil, v)))
	}
}

func TestAppendString_EscapesWhatMustBe(t *testing.T) {
	for s, want := range map[string]string{
		"":               `""`,
		"plain":          `"plain"`,
		"a\"b\\c/d":      `"a\"b\\c/d"`,
		"\n\r\t\x00\x1f": `"\n\r\t\u0000\u001f"`,
		"<&>":            `"<&>"`,
		"你好 👋":           `"你好 👋"`,
		"a\u2028b\u2029": `"a\u2028b\u2029"`,
		"a\xffb":         `"a\ufffdb"`,
		"\x7f":           "\"\x7f\"",
	} {
		require.Equal(t, want, string(appendString(nil, s)))
	}
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "a\"b", "\x00\xff", "你\u2028", "\xe2\x80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		require.NoError(t, json.Unmarshal(appendString(nil, s), &back))
		require.Equal(t, strings.ToValidUTF8(strings.Map(func(r rune) rune { return r }, s), "\uFFFD"), back)
	})
}

func TestAppendStringMap_IsByteStable(t *testing.T) {
	m := map[string]string{}
	for _, key := range strings.Split("q w e r t z u i o p a s d f g h j k l y x c v b n m", " ") {
		m[key] = key
	}
	first := string(appendStringMap(nil, m))
	require.True(t, strings.HasPrefix(first, `{"a":"a","b":"b","c":"c"`))
	for range 20 {
		require.Equal(t, first, string(appendStringMap(nil, m)))
	}
	require.Equal(t, "{}", string(appendStringMap(nil, nil)))
}
