package wire

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Bounds of one request's parameters. They protect the parser itself; the HTTP
// layer has a smaller limit for bodies.
const (
	maxParams      = 256
	maxParamsBytes = 4 << 20
)

// Params are the parameters of one request: query and form body together, read
// by hand because SDKs send what net/url refuses (Nacos HTTP v1, traps 1 to 3):
// raw JSON, semicolons, bad escapes, a trailing ampersand. The zero value has no
// parameters. Params are immutable and safe for concurrent use.
//
// The values are parts of the query and the body: who keeps one for long clones
// it, or keeps all of the request.
//
// A request has a dozen parameters at most, so a slice searched from the front
// beats a map and allocates once.
type Params struct {
	pairs []pair
}

type pair struct{ name, value string }

// ParseParams reads the raw query and the form body; body is nil when the
// request has none or its content type is not that of a form. Pairs are split
// at "&" only and at their first "="; "+" is a space, a bad escape is kept as it
// is, bytes that are no UTF-8 become U+FFFD, and values are trimmed. Where query
// and body disagree, the query wins. Too many or too long parameters are a
// [BadRequest].
func ParseParams(rawQuery string, body []byte) (Params, error) {
	if len(rawQuery)+len(body) > maxParamsBytes {
		return Params{}, BadRequestf("the parameters are longer than %d bytes", maxParamsBytes)
	}
	n := strings.Count(rawQuery, "&") + 1
	if len(body) > 0 {
		n += bytes.Count(body, []byte{'&'}) + 1
	}
	p := Params{pairs: make([]pair, 0, min(n, maxParams))}
	if err := p.add(rawQuery); err != nil {
		return Params{}, err
	}
	if err := p.add(string(body)); err != nil {
		return Params{}, err
	}
	return p, nil
}

func (p *Params) add(text string) error {
	for text != "" {
		var piece string
		piece, text, _ = strings.Cut(text, "&")
		name, value, _ := strings.Cut(piece, "=")
		if name == "" {
			continue
		}
		if len(p.pairs) == maxParams {
			return BadRequestf("more than %d parameters", maxParams)
		}
		p.pairs = append(p.pairs, pair{name: unescape(name), value: strings.TrimSpace(unescape(value))})
	}
	return nil
}

// unescape undoes form encoding. It returns s itself when there is nothing to
// undo, which is the common case and costs no allocation.
func unescape(s string) string {
	if strings.IndexByte(s, '%') >= 0 || strings.IndexByte(s, '+') >= 0 {
		b := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			switch c := s[i]; {
			case c == '+':
				b = append(b, ' ')
			case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
				b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
				i += 2
			default:
				b = append(b, c)
			}
		}
		s = string(b)
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// Get returns the first value that is not blank, trying the names, which are
// aliases of one parameter, in order. It returns "" when there is none: blank
// and absent are the same (Nacos HTTP v1: parameters).
func (p Params) Get(names ...string) string {
	for _, name := range names {
		for i := range p.pairs {
			if p.pairs[i].name == name && p.pairs[i].value != "" {
				return p.pairs[i].value
			}
		}
	}
	return ""
}

// Required returns the parameter's value or a [BadRequest] that names it.
func (p Params) Required(name string) (string, error) {
	v := p.Get(name)
	if v == "" {
		return "", BadRequestf("Param '%s' is required.", name)
	}
	return v, nil
}

// ServiceName reads serviceName (or the legacy dom) and groupName by
// [ParseServiceName].
func (p Params) ServiceName() (ServiceName, error) {
	return ParseServiceName(p.Get("serviceName", "dom"), p.Get("groupName"))
}

// ServiceKey reads the service name and namespaceId, which is "public" when
// blank.
func (p Params) ServiceKey() (ServiceKey, error) {
	name, err := p.ServiceName()
	if err != nil {
		return ServiceKey{}, err
	}
	namespace, err := p.Namespace()
	if err != nil {
		return ServiceKey{}, err
	}
	return ServiceKey{Namespace: namespace, ServiceName: name}, nil
}

// Namespace reads namespaceId: any text without control characters, "public"
// when blank. A namespace need not exist.
func (p Params) Namespace() (string, error) {
	namespace := p.Get("namespaceId")
	if namespace == "" {
		return PublicNamespace, nil
	}
	if strings.ContainsFunc(namespace, isControl) {
		return "", BadRequestf("Param 'namespaceId' has control characters: %q", Excerpt(namespace))
	}
	return namespace, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7F }
