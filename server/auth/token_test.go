package auth

import (
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// The order of the credentials: the first that is there decides, and a bad one
// does not give way to the next.
func TestAuthenticate_FirstCredentialDecides(t *testing.T) {
	f := start(t)
	admin, app, idle := f.token(t, "admin"), f.token(t, "app"), f.token(t, "idle")
	withPassword := func(c Credentials) Credentials {
		c.Username, c.Password = "idle", "idle-secret"
		return c
	}
	for _, tt := range []struct {
		name string
		c    Credentials
		want string
		err  error
	}{
		{"bearer", Credentials{Authorization: "Bearer " + admin, AccessToken: app, HeaderToken: idle}, "admin", nil},
		{"bearer of another case", Credentials{Authorization: "bearer  " + admin + " "}, "admin", nil},
		{"parameter", Credentials{AccessToken: app, HeaderToken: idle}, "app", nil},
		{"parameter with blanks", Credentials{AccessToken: " " + app + " "}, "app", nil},
		{"header of the console", Credentials{HeaderToken: idle}, "idle", nil},
		{"both of the console", Credentials{AccessToken: idle, HeaderToken: idle}, "idle", nil},
		{"name and password", withPassword(Credentials{}), "idle", nil},
		{"another scheme is none", withPassword(Credentials{Authorization: "Basic aWRsZTppZGxl"}), "idle", nil},
		{"blank parameter is none", withPassword(Credentials{AccessToken: "  ", HeaderToken: ""}), "idle", nil},

		{"empty bearer", withPassword(Credentials{Authorization: "Bearer "}), "", ErrUserNotFound},
		{"bare bearer", withPassword(Credentials{Authorization: "Bearer"}), "", ErrUserNotFound},
		{"bad bearer", withPassword(Credentials{Authorization: "Bearer x", AccessToken: app}), "", ErrTokenInvalid},
		{"bad parameter", withPassword(Credentials{AccessToken: "x", HeaderToken: app}), "", ErrTokenInvalid},
		{"nothing", Credentials{}, "", ErrUnknownUser},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := f.Authenticate(t.Context(), tt.c)
			require.ErrorIs(t, err, tt.err)
			require.Equal(t, tt.want, p.Name)
		})
	}
}

func TestToken_Expires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(o *Options) { o.TokenTTL = time.Minute })
		c := Credentials{AccessToken: f.token(t, "app")}
		time.Sleep(59 * time.Second)
		_, err := f.Authenticate(t.Context(), c)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		_, err = f.Authenticate(t.Context(), c)
		require.ErrorIs(t, err, ErrTokenExpired)
		require.EqualError(t, err, "token expired!")
	})
}

func TestToken_EndsWithTheUserAndThePassword(t *testing.T) {
	f := start(t)
	c := Credentials{AccessToken: f.token(t, "app")}
	f.people.set("app", "changed", "app")
	_, err := f.Authenticate(t.Context(), c)
	require.ErrorIs(t, err, ErrTokenInvalid)

	f.people.set("app", "app-secret", "app")
	_, err = f.Authenticate(t.Context(), c)
	require.NoError(t, err, "the very same hash")

	f.people.remove("app")
	_, err = f.Authenticate(t.Context(), c)
	require.ErrorIs(t, err, ErrTokenInvalid)
	_, err = f.Login(t.Context(), c)
	require.ErrorIs(t, err, ErrTokenInvalid)
}

// SB-18: whatever is not signed by this installation's key with the one
// algorithm, or never ends, is no token.
func TestSB18_ForgedTokens(t *testing.T) {
	key := NewKey()
	f := start(t, func(o *Options) { o.Key = key })
	f.people.set("nacos", "nacos-secret", AdminRole)
	hash, _ := f.people.PasswordHash("nacos")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	sample := []byte(publishedSample)
	sampleDecoded, _ := decodeBase64(publishedSample)

	good := func() jwt.MapClaims {
		return jwt.MapClaims{
			"iss": "rollcall/one", "sub": "nacos", "exp": time.Now().Add(100 * 365 * 24 * time.Hour).Unix(),
			"pwd": f.tokens.tie("nacos", hash),
		}
	}
	without := func(member string) jwt.MapClaims {
		c := good()
		delete(c, member)
		return c
	}
	with := func(member string, value any) jwt.MapClaims {
		c := good()
		c[member] = value
		return c
	}
	sign := func(m jwt.SigningMethod, key any, c jwt.Claims) string {
		token, err := jwt.NewWithClaims(m, c).SignedString(key)
		require.NoError(t, err)
		return token
	}
	valid := sign(jwt.SigningMethodHS256, key.bytes, good())
	_, err = f.Authenticate(t.Context(), Credentials{AccessToken: valid})
	require.NoError(t, err, "the base of all others")
	parts := strings.Split(valid, ".")

	for name, token := range map[string]string{
		"published sample":         sign(jwt.SigningMethodHS256, sample, good()),
		"published sample decoded": sign(jwt.SigningMethodHS256, sampleDecoded, good()),
		"empty key":                sign(jwt.SigningMethodHS256, []byte{}, good()),
		"none":                     sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good()),
		"HS384":                    sign(jwt.SigningMethodHS384, key.bytes, good()),
		"HS512":                    sign(jwt.SigningMethodHS512, key.bytes, good()),
		"RS256":                    sign(jwt.SigningMethodRS256, rsaKey, good()),
		"no expiry":                sign(jwt.SigningMethodHS256, key.bytes, without("exp")),
		"expiry that is no number": sign(jwt.SigningMethodHS256, key.bytes, with("exp", "never")),
		"no subject":               sign(jwt.SigningMethodHS256, key.bytes, without("sub")),
		"unknown subject":          sign(jwt.SigningMethodHS256, key.bytes, with("sub", "nobody")),
		"another's password":       sign(jwt.SigningMethodHS256, key.bytes, with("sub", "admin")),
		"no password":              sign(jwt.SigningMethodHS256, key.bytes, without("pwd")),
		"no issuer":                sign(jwt.SigningMethodHS256, key.bytes, without("iss")),
		"same key elsewhere":       sign(jwt.SigningMethodHS256, key.bytes, with("iss", "rollcall/two")),
		"expired elsewhere":        sign(jwt.SigningMethodHS256, key.bytes, jwt.MapClaims{"iss": "rollcall/two", "sub": "nacos", "exp": 1}),
		"as Nacos makes them":      sign(jwt.SigningMethodHS256, key.bytes, jwt.MapClaims{"sub": "nacos", "exp": time.Now().Add(time.Hour).Unix()}),
		"no signature":             parts[0] + "." + parts[1] + ".",
		"two parts":                parts[0] + "." + parts[1],
		"four parts":               valid + ".x",
		"padding":                  valid + "=",
		"too long":                 valid + strings.Repeat("A", maxTokenSize),
		"not a token":              "nacos",
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []Credentials{{AccessToken: token}, {HeaderToken: token}, {Authorization: "Bearer " + token}} {
				_, err := f.Authenticate(t.Context(), c)
				require.ErrorIs(t, err, ErrTokenInvalid)
				require.EqualError(t, err, "token invalid!")
			}
		})
	}
}

// SB-18: a token of another deployment is none here, and a restart with the same
// key and installation keeps sessions.
func TestSB18_TokensBelongToTheirInstallation(t *testing.T) {
	key := NewKey()
	withKey := func(o *Options) { o.Key = key }
	token := start(t, withKey).token(t, "app")

	again, err := ParseKey(key.Encode())
	require.NoError(t, err)
	_, err = start(t, func(o *Options) { o.Key = again }).Authenticate(t.Context(), Credentials{AccessToken: token})
	require.NoError(t, err)

	_, err = start(t).Authenticate(t.Context(), Credentials{AccessToken: token})
	require.ErrorIs(t, err, ErrTokenInvalid, "another key")
	other := start(t, withKey, func(o *Options) { o.Installation = "two" })
	_, err = other.Authenticate(t.Context(), Credentials{AccessToken: token})
	require.ErrorIs(t, err, ErrTokenInvalid, "the same key, another installation")
}

func FuzzCredentials(f *testing.F) {
	fix := start(f)
	token := fix.token(f, "app")
	for _, seed := range []string{
		"", "Bearer", "Bearer ", "Bearer " + token, "bearer\t" + token, "Basic eA==", token, "..", "a.b.c",
		"Bearer eyJhbGciOiJub25lIn0.e30.", strings.Repeat("Bearer ", 3),
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, header, parameter string) {
		p, err := fix.Authenticate(t.Context(), Credentials{Authorization: header, AccessToken: parameter})
		if err != nil {
			require.Zero(t, p)
			require.Contains(t, []Refusal{ErrUnknownUser, ErrUserNotFound, ErrTokenInvalid, ErrTokenExpired}, err)
			return
		}
		require.Equal(t, "app", p.Name)
		require.True(t, strings.Contains(header, token) || strings.TrimSpace(parameter) == token, "only the one token is good")
	})
}
