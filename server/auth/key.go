package auth

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// minKeySize is the least number of bytes a signing key has: as many as the
// digest of HS256 (RFC 7518, 3.2).
const minKeySize = 32

// minKeyVariety is the least number of different bytes in a key. A random one of
// 32 bytes has fewer with a probability below 10⁻²⁵; one typed by hand may well.
const minKeyVariety = 8

// Key signs and checks tokens. It keeps itself out of logs; the zero Key is not
// usable.
type Key struct{ bytes []byte }

// NewKey returns a random key. Whoever calls it stores what [Key.Encode] returns
// where only the owner can read it, or all sessions end with the process.
func NewKey() Key {
	k := Key{bytes: make([]byte, 2*minKeySize)}
	_, _ = rand.Read(k.bytes) // never fails
	return k
}

// ParseKey reads a configured key, which is base64 in any of its spellings. It
// refuses what is shorter than 32 bytes when decoded, what repeats so few
// different bytes that it cannot be random, and the samples of Nacos'
// documentation, which the whole world knows (server case SB-18). The error does
// not repeat the key.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	if isSample([]byte(text)) {
		return Key{}, errSample
	}
	decoded, err := decodeBase64(text)
	switch {
	case err != nil:
		return Key{}, errors.New("the key for login tokens is not base64")
	case isSample(decoded):
		return Key{}, errSample
	case len(decoded) < minKeySize:
		return Key{}, fmt.Errorf("the key for login tokens has %d bytes when decoded, at least %d are needed",
			len(decoded), minKeySize)
	case variety(decoded) < minKeyVariety:
		return Key{}, errors.New("the key for login tokens is not random")
	}
	return Key{bytes: decoded}, nil
}

// Encode returns the key as text that [ParseKey] reads. It is the secret itself.
func (k Key) Encode() string { return base64.StdEncoding.EncodeToString(k.bytes) }

// String hides the key.
func (k Key) String() string { return "(secret)" }

// GoString hides the key.
func (k Key) GoString() string { return k.String() }

// LogValue hides the key.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

var errSample = errors.New("the key for login tokens is a published sample that everybody knows: choose another, or none to have one made")

// samples are how the published keys begin; they differ in how many digits
// follow.
var samples = []string{
	"SecretKey0123456789",
	"SecretToken0123456789",
	"ThisIsMyCustomSecretKey",
	"asgasdfasdfasdfasdfasdggierutp",
	"your_base64_encoded_string",
}

// isSample says whether a key, or the text it is the base64 of, is a sample.
func isSample(key []byte) bool {
	decoded, _ := decodeBase64(string(key))
	for _, s := range samples {
		if strings.HasPrefix(string(key), s) || strings.HasPrefix(string(decoded), s) {
			return true
		}
	}
	return false
}

// decodeBase64 reads both alphabets, padded or not.
func decodeBase64(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	return base64.RawStdEncoding.DecodeString(text)
}

func variety(b []byte) int {
	var seen [256]bool
	n := 0
	for _, c := range b {
		if !seen[c] {
			seen[c] = true
			n++
		}
	}
	return n
}
