package auth

import (
	"net/netip"
	"strings"
)

// Credentials is all of a request that has a say in who its sender is. The
// caller fills it in from the request as it came; which of them counts is decided
// here, in the order of the fields.
type Credentials struct {
	// Authorization is the header of that name: "Bearer <token>". Other schemes
	// count as absent.
	Authorization string
	// AccessToken is the parameter accessToken, of the query or the form.
	AccessToken string
	// HeaderToken is the header accessToken, which the Nacos console sends.
	HeaderToken string
	// Username and Password are the parameters of these names; the Node client
	// sends them with each call.
	Username, Password string

	// Client is the address of the connection, for the limit on guessing. It is
	// never one that a header claims, and gives no rights.
	Client netip.Addr
}

// token returns the token that the request is judged by; ok is false when there
// is none at all. A bearer header without a token is a token that is empty.
func (c *Credentials) token() (token string, ok bool) {
	if token, ok = bearer(c.Authorization); ok {
		return token, true
	}
	for _, token := range [...]string{c.AccessToken, c.HeaderToken} {
		if token = strings.TrimSpace(token); token != "" {
			return token, true
		}
	}
	return "", false
}

// bearer returns the token of an Authorization header of that scheme (RFC 6750,
// 2.1; the scheme's case does not matter).
func bearer(header string) (token string, ok bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}
