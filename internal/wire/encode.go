package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Marshal encodes a value as Nacos does: compact, and with only the escapes that
// JSON demands. encoding/json alone would escape "&", "<" and ">", which stand in
// the expressions of selectors, in paths and in commands.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Float is a number that Java types as double or float: its JSON always has a
// fraction digit, 1.0 and never 1 (Nacos HTTP v1: success bodies).
type Float float64

// MarshalJSON implements json.Marshaler; NaN and infinity are an error.
func (f Float) MarshalJSON() ([]byte, error) {
	if v := float64(f); math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, fmt.Errorf("no JSON number for %v", v)
	}
	return appendFloat(nil, float64(f)), nil
}

// appendFloat writes a finite number with a fraction digit; there is no JSON
// for others, they become 0.0.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "0.0"...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	digits := dst[start:]
	if slices.Contains(digits, '.') {
		return dst
	}
	if e := slices.Index(digits, 'e'); e >= 0 {
		return slices.Insert(dst, start+e, '.', '0')
	}
	return append(dst, '.', '0')
}

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string. Only what JSON demands is escaped,
// plus U+2028 and U+2029, which older JavaScript cannot read; invalid UTF-8
// becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&15])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

// appendStringMap writes m as a JSON object with sorted keys, so that equal maps
// have equal bytes: the Python SDK compares a digest of each host object.
func appendStringMap(dst []byte, m map[string]string) []byte {
	var few [16]string // keeps the usual handful of keys off the heap
	keys := few[:0]
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, key), ':')
		dst = appendString(dst, m[key])
	}
	return append(dst, '}')
}
