package wire

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExplainJSON_SaysNothingOfGo(t *testing.T) {
	for text, want := range map[string]string{
		`[1]`:                    "metadata format incorrect:[1] (it cannot be of the kind array)",
		`{"a":`:                  `metadata format incorrect:{"a": (no valid JSON from byte 5 on)`,
		`{"a":{"b":1}}`:          `metadata format incorrect:{"a":{"b":1}} (nested values are not supported)`,
		`7`:                      "metadata format incorrect:7 (it cannot be of the kind number)",
		`{"a":1} and something`:  `metadata format incorrect:{"a":1} and something (no valid JSON from byte 9 on)`,
		`{"a":"` + "\n" + `"}`:   "metadata format incorrect:{\"a\":\"\n\"} (no valid JSON from byte 7 on)",
		`{"a":[],"b":"ignored"}`: `metadata format incorrect:{"a":[],"b":"ignored"} (nested values are not supported)`,
	} {
		_, err := ParseMetadata(text)
		require.EqualError(t, err, want)
	}
	for text, want := range map[string]string{
		`[]`:               "beat format incorrect: it cannot be of the kind array",
		`{`:                "beat format incorrect: no valid JSON from byte 1 on",
		`{"ip":1}`:         "beat format incorrect: ip cannot be of the kind number",
		`{"port":"x"}`:     "beat format incorrect: not an integer: x",
		`{"metadata":[1]}`: "beat format incorrect: metadata cannot be of the kind array",
	} {
		_, err := ParseBeat(text)
		require.EqualError(t, err, want)
	}
	require.Equal(t, "not the JSON that is expected here", ExplainJSON(errors.New("json: something new in Go")))
	require.NotContains(t, ExplainJSON(json.Unmarshal([]byte(`"x"`), new(int))), "Go")
}
