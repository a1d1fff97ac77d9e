package auth

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

const publishedSample = "SecretKey012345678901234567890123456789012345678901234567890123456789"

// SB-18: a key that is too short or published stops the start.
func TestSB18_KeysThatAreRefused(t *testing.T) {
	encode := base64.StdEncoding.EncodeToString
	random := NewKey().bytes
	for name, text := range map[string]string{
		"nothing":               "",
		"ten bytes":             encode(random[:10]),
		"one byte too few":      encode(random[:31]),
		"long text, few bytes":  encode(random[:24]),
		"not base64":            "this is my secret, it is long enough!",
		"sample":                publishedSample,
		"sample with blanks":    " " + publishedSample + "\n",
		"sample encoded":        encode([]byte(publishedSample)),
		"sample of the images":  "SecretKey01234567890123456789012345345678999987654901234567890123456789",
		"sample of the guide":   "VGhpc0lzTXlDdXN0b21TZWNyZXRLZXkwMTIzNDU2Nzg=",
		"guide, not encoded":    "ThisIsMyCustomSecretKey012345678",
		"guide, encoded twice":  encode([]byte("VGhpc0lzTXlDdXN0b21TZWNyZXRLZXkwMTIzNDU2Nzg=")),
		"hard-coded before 1.0": "asgasdfasdfasdfasdfasdggierutpiurthajskdhflasdhfdifuyusodyaoudsyfaoasdufyaousiyfo",
		"zeros":                 encode(make([]byte, 64)),
		"one word again":        encode(bytes.Repeat([]byte("secret"), 10)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseKey(text)
			require.Error(t, err)
			if text != "" {
				require.NotContains(t, err.Error(), text)
			}
		})
	}
}

func TestParseKey_Spellings(t *testing.T) {
	raw := append(bytes.Repeat([]byte{0xfb, 0xff, 0xfe}, 8), "0123456789"...)
	for name, e := range map[string]*base64.Encoding{
		"standard": base64.StdEncoding, "unpadded": base64.RawStdEncoding,
		"URL": base64.URLEncoding, "unpadded URL": base64.RawURLEncoding,
	} {
		t.Run(name, func(t *testing.T) {
			k, err := ParseKey(e.EncodeToString(raw))
			require.NoError(t, err)
			require.Equal(t, raw, k.bytes)
		})
	}
	_, err := ParseKey(base64.StdEncoding.EncodeToString(NewKey().bytes[:32]))
	require.NoError(t, err, "exactly enough")
}

func TestKey_IsRandomAndKeepsItselfOutOfLogs(t *testing.T) {
	k := NewKey()
	require.NotEqual(t, k, NewKey())
	require.Len(t, k.bytes, 64)

	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "key", k, "options", fmt.Sprintf("%v %+v %#v %s", k, k, k, k))
	require.Contains(t, log.String(), "(secret)")
	require.NotContains(t, log.String(), k.Encode())
	require.NotContains(t, log.String(), fmt.Sprintf("%v", k.bytes))
}
