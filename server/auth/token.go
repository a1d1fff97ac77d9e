package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// maxTokenSize bounds a token before anything of it is decoded; ours have less
// than 500 bytes.
const maxTokenSize = 4096

// claims is the content of a token.
type claims struct {
	jwt.RegisteredClaims
	// Password ties the token to the user's password, so that a changed one ends
	// all sessions, and a new user does not inherit those of an old one of the
	// same name.
	Password string `json:"pwd"`
}

// tokens makes and reads login tokens: JWTs signed with HS256, and with nothing
// else, whatever their header says (server case SB-18).
type tokens struct {
	key    []byte
	issuer string
	ttl    time.Duration
	parser *jwt.Parser
}

func newTokens(key Key, installation string, ttl time.Duration) *tokens {
	issuer := "rollcall/" + installation
	return &tokens{
		key:    key.bytes,
		issuer: issuer,
		ttl:    ttl,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithExpirationRequired(),
			jwt.WithIssuer(issuer),
			jwt.WithStrictDecoding(),
		),
	}
}

// sign returns a new token of a user who has this password hash.
func (t *tokens) sign(user, hash string) (string, error) {
	now := time.Now()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    t.issuer,
			Subject:   user,
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(t.ttl)),
		},
		Password: t.tie(user, hash),
	}).SignedString(t.key)
	if err != nil {
		return "", fmt.Errorf("sign a login token: %w", err)
	}
	return token, nil
}

// read returns the content of a token that this installation signed and that has
// not expired; otherwise it is [ErrTokenInvalid] or [ErrTokenExpired].
func (t *tokens) read(token string) (*claims, error) {
	if len(token) > maxTokenSize {
		return nil, ErrTokenInvalid
	}
	c := &claims{}
	_, err := t.parser.ParseWithClaims(token, c, func(*jwt.Token) (any, error) { return t.key, nil })
	switch {
	case errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return nil, ErrTokenExpired
	case err != nil || c.Subject == "":
		return nil, ErrTokenInvalid
	}
	return c, nil
}

// fits says whether a token was made while its user had this password hash.
func (t *tokens) fits(c *claims, hash string) bool {
	return hmac.Equal([]byte(c.Password), []byte(t.tie(c.Subject, hash)))
}

// tie returns a short keyed hash of a password hash, which tells a client nothing.
func (t *tokens) tie(user, hash string) string {
	m := hmac.New(sha256.New, t.key)
	fmt.Fprintf(m, "rollcall password\x00%s\x00%s", user, hash)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:16])
}
