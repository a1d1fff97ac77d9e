package wire

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ParseMetadata reads a metadata parameter (server case SB-01). Blank and JSON
// null are an empty map. A JSON object must have scalar values: strings are
// taken as they are, numbers and booleans as their text, null as "". Text that
// is not JSON is the old form k=v,k=v, each pair split at its first "=", with
// text on both sides. Anything else is a [BadRequest] that shows what is wrong;
// text that begins with a brace or bracket is meant as JSON and never read as
// pairs.
func ParseMetadata(text string) (map[string]string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return map[string]string{}, nil
	}
	if text[0] == '{' || text[0] == '[' || json.Valid([]byte(text)) {
		var m flexMap
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return nil, badMetadata(text, ExplainJSON(err))
		}
		return m, nil
	}
	m := make(map[string]string)
	for piece := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(piece, "=")
		if !ok || key == "" || value == "" {
			return nil, badMetadata(text, fmt.Sprintf("%q is not of the form key=value", Excerpt(piece)))
		}
		m[strings.Clone(key)] = strings.Clone(value) // they outlive the request
	}
	return m, nil
}

func badMetadata(text, why string) error {
	return BadRequestf("metadata format incorrect:%s (%s)", Excerpt(text), why)
}

// EncodeMetadata returns m as a JSON object with sorted keys; nil is "{}".
func EncodeMetadata(m map[string]string) string {
	return string(appendStringMap(nil, m))
}
