package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/server/auth"
)

func TestAuth_Login(t *testing.T) {
	for _, on := range []bool{true, false} {
		for _, path := range []string{"POST /v1/auth/login", "POST /v1/auth/users/login"} {
			t.Run(fmt.Sprint(path, on), func(t *testing.T) {
				bothWays(t, func(t *testing.T, f *fixture) {
					f.api.authOn = on
					f.user("admin", auth.AdminRole)
					f.user("reader", "reads")
					w := f.send(path, "username", "admin", "password", password)
					require.Equal(t, 200, w.Code)
					require.Equal(t, "application/json;charset=UTF-8", w.Header().Get("Content-Type"))
					var reply struct {
						AccessToken string
						TokenTTL    int64 `json:"tokenTtl"`
						GlobalAdmin bool
						Username    string
					}
					require.NoError(t, json.Unmarshal(w.Body.Bytes(), &reply))
					require.Equal(t, int64(18000), reply.TokenTTL)
					require.True(t, reply.GlobalAdmin)
					require.Equal(t, "admin", reply.Username)
					require.Equal(t, "Bearer "+reply.AccessToken, w.Header().Get("Authorization"))
					require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
					require.Contains(t, f.wantStatus(200, path, "username", "reader", "password", password), `"globalAdmin":false`)
					f.want("403 unknown user!", path, "username", "admin", "password", "wrong")
					f.want("403 unknown user!", path, "username", "admin")
					f.want("403 unknown user!", path)
				})
			})
		}
	}
}

func TestAuth_UnknownUsersAreAnsweredTheSame(t *testing.T) {
	f := closed(t)
	f.want("403 unknown user!", "POST /v1/auth/login", "username", "nobody", "password", password)
}

func TestAuth_LoginsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := closed(t)
		limited := false
		for i := range 100 {
			w := f.send("POST /v1/auth/login", "username", "admin", "password", "wrong"+strconv.Itoa(i))
			if w.Code == http.StatusTooManyRequests {
				limited = true
				seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
				require.NoError(t, err)
				require.Positive(t, seconds)
				break
			}
			require.Equal(t, 403, w.Code)
		}
		require.True(t, limited)
		require.Equal(t, http.StatusTooManyRequests, f.send("GET instance/list", "serviceName", "s", "username", "admin", "password", "other").Code)
	})
}

// TestSB17_AForwardedAddressDoesNotEscapeTheLimit guesses with another address in
// every header that proxies set.
func TestSB17_AForwardedAddressDoesNotEscapeTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := closed(t)
		var last int
		for i := range 100 {
			r := httptest.NewRequest("POST", "/v1/auth/login?username=admin&password=wrong"+strconv.Itoa(i), http.NoBody)
			for _, header := range []string{"X-Forwarded-For", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Proxy-Client-Ip"} {
				r.Header.Set(header, "10.0.0."+strconv.Itoa(i))
			}
			r.Header.Set("Forwarded", "for=10.0.0."+strconv.Itoa(i))
			if last = f.serve(r).Code; last != 403 {
				break
			}
		}
		require.Equal(t, http.StatusTooManyRequests, last)
	})
}

func TestSB17_NoHeaderGivesTrust(t *testing.T) {
	f := closed(t)
	f.want("403 unknown user!", "POST /v1/auth/login", "username", "nacos", "password", "nacos")
	before := f.state.View().Applied()
	headers := []http.Header{
		{"User-Agent": {"Nacos-Server"}},
		{"User-Agent": {"nacos-server"}},
		{"User-Agent": {"Nacos-Server/1.0"}},
		{"User-Agent": {"Nacos-Server:1.4.1"}},
		{"X-Forwarded-For": {"127.0.0.1"}},
		{"X-Real-Ip": {"127.0.0.1"}},
		{"Forwarded": {"for=127.0.0.1"}},
		{"Serveridentity": {"security"}},
		{"Serveridentity": {""}},
		{"Authorization": {"Basic YWRtaW46"}},
		{"Request-Source": {"127.0.0.1"}},
	}
	targets := []string{
		"GET /v1/auth/users?pageNo=1&pageSize=9", "POST /v1/auth/users?username=evil&password=evilevilevil", "PUT /v1/auth/users?username=admin&newPassword=evilevilevil",
		"POST /v1/ns/instance?serviceName=s&ip=192.0.2.7&port=80", "DELETE /v1/ns/service?serviceName=s",
		"PUT /v1/ns/instance/beat?serviceName=s&ip=192.0.2.7&port=80&beat=%7B%22ip%22%3A%22192.0.2.7%22%2C%22port%22%3A80%7D",
	}
	for _, r := range Routes() {
		if r.Access == peers() || strings.HasPrefix(r.Path, "/v1/core/ops") {
			targets = append(targets, r.Method+" "+r.Path+"?serviceName=s&key=s")
		}
	}
	require.Greater(t, len(targets), 25)
	for _, target := range targets {
		method, path, _ := strings.Cut(target, " ")
		for _, h := range headers {
			r := httptest.NewRequest(method, path, http.NoBody)
			r.Header = h.Clone()
			require.Equal(t, 403, f.serve(r).Code, "%s %v", target, h)
		}
	}
	require.Equal(t, before, f.state.View().Applied())
	require.Zero(t, f.store.Stats().Services)
}

func TestSB18_TokensOfOthers(t *testing.T) {
	f := closed(t)
	segment := func(v any) string {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return base64.RawURLEncoding.EncodeToString(b)
	}
	sign := func(header, claims any, key []byte) string {
		text := segment(header) + "." + segment(claims)
		m := hmac.New(sha256.New, key)
		m.Write([]byte(text))
		return text + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
	}
	hs256 := map[string]string{"alg": "HS256", "typ": "JWT"}
	far := map[string]any{"sub": "admin", "exp": time.Now().Add(1000 * time.Hour).Unix()}
	sample, err := base64.RawStdEncoding.DecodeString("SecretKey0123456789012345678901234567890123456789012345678901234567")
	require.NoError(t, err)
	other := newFixture(t, func(o *Options) { o.AuthEnabled = true })
	other.user("admin", auth.AdminRole)
	key, err := auth.ParseKey("ZmVkY2JhOTg3NjU0MzIxMDAxMjM0NTY3ODlhYmNkZWY=")
	require.NoError(t, err)
	raw, err := base64.StdEncoding.DecodeString(key.Encode())
	require.NoError(t, err)
	for name, token := range map[string]string{
		"sample":     sign(hs256, far, sample),
		"empty key":  sign(hs256, far, nil),
		"none":       segment(map[string]string{"alg": "none"}) + "." + segment(far) + ".",
		"none, sign": sign(map[string]string{"alg": "none"}, far, raw),
		"RS256":      sign(map[string]string{"alg": "RS256"}, far, raw),
		"no expiry":  sign(hs256, map[string]any{"sub": "admin", "iss": "rollcall/here"}, raw),
		"no issuer":  sign(hs256, far, raw),
		"no tie":     sign(hs256, map[string]any{"sub": "admin", "iss": "rollcall/here", "exp": far["exp"]}, raw),
		"other user": other.login("admin"), // of one who has another password hash
	} {
		f.token = token
		require.Equal(t, 403, f.send("GET /v1/auth/users", "pageNo", "1", "pageSize", "9").Code, name)
	}
	f.as("admin")
	f.wantStatus(200, "GET /v1/auth/users", "pageNo", "1", "pageSize", "9")
}

func TestAuth_ATokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := closed(t)
		f.as("admin")
		list := func() *httptest.ResponseRecorder { return f.send("GET instance/list", "serviceName", "s") }
		require.Equal(t, 200, list().Code)
		time.Sleep(5*time.Hour + time.Minute)
		w := list()
		require.Equal(t, 403, w.Code)
		require.Contains(t, w.Body.String(), "token expired!")
	})
}
