package wire

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// The flex types decode what SDKs and servers of other languages really send: a
// number as a string, an integer with a fraction, null for a default.

// flexInt is an integer, also as 8080.0 or "8080"; null leaves it as it is. Blank
// text is none: a port that was left empty is not port 0 (server case SB-03).
type flexInt int64

func (n *flexInt) UnmarshalJSON(b []byte) error {
	text := scalar(b)
	if text == "null" {
		return nil
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, ferr := parseFloat(text)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return BadRequestf("not an integer: %s", Excerpt(text))
		}
		i = int64(f)
	}
	*n = flexInt(i)
	return nil
}

// milliseconds returns the number as a duration, 0 for what is none.
func (n flexInt) milliseconds() time.Duration {
	const most = flexInt(math.MaxInt64 / time.Millisecond)
	if n < 0 || n > most {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// flexFloat is a finite number, also as a string; null leaves it as it is.
type flexFloat float64

func (f *flexFloat) UnmarshalJSON(b []byte) error {
	v := anyFloat(*f)
	if err := v.UnmarshalJSON(b); err != nil {
		return err
	}
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return BadRequestf("not a number: %s", Excerpt(scalar(b)))
	}
	*f = flexFloat(v)
	return nil
}

// anyFloat is a number, also as a string, also one that is none: Java's JSON writes
// "NaN" and "Infinity". In a list, one instance that was registered so must not
// make the others unreadable. Null leaves it as it is.
type anyFloat float64

func (f *anyFloat) UnmarshalJSON(b []byte) error {
	text := scalar(b)
	if text == "null" || text == "" {
		return nil
	}
	v, err := parseFloat(text)
	if err != nil {
		return BadRequestf("not a number: %s", Excerpt(text))
	}
	*f = anyFloat(v)
	return nil
}

// flexBool is a boolean, also as a string in any case (server case SB-06) or as 1
// and 0; null leaves it as it is.
type flexBool bool

func (v *flexBool) UnmarshalJSON(b []byte) error {
	switch text := scalar(b); {
	case strings.EqualFold(text, "true"), text == "1":
		*v = true
	case strings.EqualFold(text, "false"), text == "0":
		*v = false
	case text != "null" && text != "":
		return BadRequestf("not a boolean: %s", Excerpt(text))
	}
	return nil
}

// unimportant is a member that is read for who wants to know it and decides
// nothing: what cannot be read leaves it as it is.
type unimportant[T any] struct{ value T }

func (m *unimportant[T]) UnmarshalJSON(b []byte) error {
	var v T
	if json.Unmarshal(b, &v) == nil {
		m.value = v
	}
	return nil
}

// scalar is the text of a JSON scalar without the quotes of a string.
func scalar(b []byte) string {
	if len(b) >= 2 && b[0] == '"' {
		return strings.TrimSpace(string(b[1 : len(b)-1]))
	}
	return string(b)
}

// flexMap is an object of scalars, each kept as text; null is an empty map.
type flexMap map[string]string

var errNested = errors.New("nested values are not supported")

func (m *flexMap) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	out := make(flexMap, len(raw))
	for key, value := range raw {
		switch {
		case len(value) == 0 || value[0] == '{' || value[0] == '[':
			return errNested
		case value[0] == '"':
			var text string
			if err := json.Unmarshal(value, &text); err != nil {
				return err
			}
			out[key] = text
		case string(value) == "null":
			out[key] = ""
		default:
			out[key] = string(value)
		}
	}
	*m = out
	return nil
}
