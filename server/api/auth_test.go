package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/push"
	"github.com/rollcall-go/rollcall/server/state"
)

// closed is a fixture with authentication on and an administrator.
func closed(t testing.TB) *fixture {
	t.Helper()
	f := newFixture(t, func(o *Options) { o.AuthEnabled = true })
	f.user("admin", auth.AdminRole)
	return f
}

const password = "correct horse battery"

// user makes a user with a role that may do what the permissions say, written
// "resource action".
func (f *fixture) user(name, role string, permissions ...string) {
	f.t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	require.NoError(f.t, err)
	f.apply(&state.CreateUser{User: state.User{Name: name, PasswordHash: string(hash)}},
		&state.AddRole{Role: state.Role{User: name, Role: role}})
	for _, p := range permissions {
		resource, action, _ := strings.Cut(p, " ")
		f.apply(&state.AddPermission{Permission: state.Permission{Role: role, Resource: resource, Action: action}})
	}
}

// login returns a user's token.
func (f *fixture) login(name string) string {
	f.t.Helper()
	old := f.token
	f.token = "" // else it would be judged by that
	defer func() { f.token = old }()
	var reply struct{ AccessToken string }
	require.NoError(f.t, json.Unmarshal([]byte(f.wantStatus(200, "POST /v1/auth/login", "username", name, "password", password)), &reply))
	require.NotEmpty(f.t, reply.AccessToken)
	return reply.AccessToken
}

// as sends what follows with a user's token.
func (f *fixture) as(name string) { f.token = f.login(name) }

// refusals are the statuses of requests that authentication stopped.
func refusedStatus(w *httptest.ResponseRecorder) bool { return w.Code == http.StatusForbidden }

// TestAuth_RouteTable walks the table: which routes answer without a token, and
// what each of the others asks for.
func TestAuth_RouteTable(t *testing.T) {
	f := closed(t)
	f.user("nobody", "none", "elsewhere:*:* rw")
	f.user("reader", "reads", ":*:* r")
	f.user("writer", "writes", ":*:* w")
	f.user("everywhere", "all", "*:*:* rw", "naming/switches rw", "console/users rw", "* rw")
	tokens := map[string]string{"": ""}
	for _, name := range []string{"nobody", "reader", "writer", "everywhere", "admin"} {
		tokens[name] = f.login(name)
	}
	let := func(r Route, user string) bool {
		f.token = tokens[user]
		// A name that cannot be: whoever is let in gets an error and changes nothing.
		w := f.send(r.Method+" "+r.Path, "serviceName", "G@@s", "dom", "s", "namespaceId", "", "ip", "no ip", "healthy", "x", "username", "", "role", "")
		return !refusedStatus(w)
	}
	for _, r := range Routes() {
		route := r.Method + " " + r.Path
		if r.Access.kind == openAccess {
			continue // TestSB17_WhatAnswersWithoutATokenIsListed
		}
		require.False(t, let(r, ""), route)
		require.True(t, let(r, "admin") || strings.HasPrefix(r.Path, "/v1/auth/"), "%s for administrators", route)
		switch r.Access.String() {
		case "read, service", "read, namespace", "read, namespace or all":
			require.False(t, let(r, "nobody"), route)
			require.False(t, let(r, "writer"), route)
			require.Equal(t, r.Access.kind != everywhereAccess, let(r, "reader"), "%s: none named is all of them", route)
			require.True(t, let(r, "everywhere"), route)
		case "write, service":
			require.False(t, let(r, "nobody"), route)
			require.False(t, let(r, "reader"), route)
			require.True(t, let(r, "writer"), route)
			require.True(t, let(r, "everywhere"), route)
		case "read, switches", "write, switches":
			require.False(t, let(r, "reader"), route)
			require.False(t, let(r, "writer"), route)
			require.True(t, let(r, "everywhere"), route)
		case "administrators":
			require.False(t, let(r, "everywhere"), "%s: no permission gives this", route)
		case "every user":
			require.True(t, let(r, "nobody") || strings.HasPrefix(r.Path, "/v1/auth/"), route)
		default:
			t.Errorf("%s: %s", route, r.Access)
		}
	}
}

// TestSB17_WhatAnswersWithoutATokenIsListed asks every route for something that is
// there, as the four kinds of callers that have no rights: what answers them is
// this list and no more.
func TestSB17_WhatAnswersWithoutATokenIsListed(t *testing.T) {
	f := closed(t)
	f.user("lowly", "none")
	f.as("admin")
	f.want("200 ok", "POST instance", "serviceName", "s", "ip", "192.0.2.7", "port", "80")
	lowly, other := f.login("lowly"), newFixture(t, func(o *Options) { o.AuthEnabled = true })
	other.user("admin", auth.AdminRole)
	answering := func(credentials ...string) (routes []string) {
		f.token = ""
		for _, r := range Routes() {
			// What could change something has a value that is wrong.
			w := f.send(r.Method+" "+r.Path, append([]string{
				"serviceName", "s", "dom", "s", "clusterName", "DEFAULT", "ip", "192.0.2.7", "port", "80", "pageNo", "1", "pageSize", "9",
				"key", "DEFAULT_GROUP@@s", "entry", "none", "value", "x", "healthy", "true", "weight", "x", "protectThreshold", "x",
			}, credentials...)...)
			if w.Code < 400 {
				routes = append(routes, r.Method+" "+r.Path)
			} else if r.Access.kind != openAccess && r.Access.kind != signedInAccess {
				require.Contains(t, []int{401, 403}, w.Code, "%s %s: %s", r.Method, r.Path, w.Body)
			}
			require.NotContains(t, w.Body.String(), "192.0.2.7", "%s %s", r.Method, r.Path)
			require.NotContains(t, w.Body.String(), "DEFAULT_GROUP@@s", "%s %s", r.Method, r.Path)
		}
		return routes
	}
	open := []string{
		"GET /v1/console/server/state",     // the console's login form shows it: constants
		"GET /v1/console/health/liveness",  // probes have no credentials (SB-24)
		"GET /v1/console/health/readiness", // the same
	}
	require.ElementsMatch(t, open, answering(), "no token")
	require.ElementsMatch(t, open, answering("accessToken", "x"), "no token at all")
	require.ElementsMatch(t, open, answering("accessToken", other.login("admin")), "a token of others")
	require.ElementsMatch(t, open, answering("username", "admin", "password", "wrong"), "a wrong password")
	// Who has a login and no permission learns about the server and nothing of what
	// is registered; that namespaces exist is what the console offers to choose from.
	everyUser := append(open, "GET /v1/console/namespaces", "GET /v1/ns/health/server",
		"POST /v1/auth/login", "POST /v1/auth/users/login", // the token is valid and given back
		"GET /v1/core/cluster/nodes", "GET /v1/core/cluster/self", "GET /v1/core/cluster/simple/nodes", "GET /v1/core/cluster/health")
	for _, root := range []string{"/v1/ns/operator", "/v1/ns/ops"} {
		everyUser = append(everyUser, "GET "+root+"/metrics", "GET "+root+"/servers", "GET "+root+"/push/state")
	}
	f.push.accept = false
	require.ElementsMatch(t, everyUser, answering("accessToken", lowly), "a token without rights")
}

func TestAccess_NothingIsForgotten(t *testing.T) {
	require.Equal(t, "administrators", Access{}.String(), "a route nobody thought about")
	f := closed(t)
	f.user("everywhere", "all", "* rw")
	c := &call{request: httptest.NewRequest("GET", "/", http.NoBody)}
	c.request.Header.Set("Authorization", "Bearer "+f.login("everywhere"))
	require.ErrorIs(t, f.api.authorize(Route{}, c), auth.ErrNotAuthorized)
	c.request.Header.Set("Authorization", "Bearer "+f.login("admin"))
	require.NoError(t, f.api.authorize(Route{}, c))
}

// TestAuth_TheRequestIsJudgedByWhatItDoes sends requests that name one service
// where the right is looked up and another where something is done.
func TestAuth_TheRequestIsJudgedByWhatItDoes(t *testing.T) {
	f := closed(t)
	f.user("mine", "mine", ":DEFAULT_GROUP:naming/mine rw", ":G:naming/other rw")
	f.as("mine")
	f.want("200 ok", "POST instance", "serviceName", "mine", "ip", "192.0.2.7", "port", "80")
	for _, pairs := range [][]string{
		{"serviceName", "other"},
		{"serviceName", "DEFAULT_GROUP@@other"},
		{"serviceName", "DEFAULT_GROUP@@other", "groupName", "G"},
		{"serviceName", "mine", "namespaceId", "dev"},
		{"serviceName", "mine", "groupName", "X"},
	} {
		f.wantStatus(403, "POST instance", append(pairs, "ip", "192.0.2.7", "port", "80")...)
	}
	f.want("200 ok", "POST instance", "serviceName", "other", "groupName", "G", "ip", "192.0.2.7", "port", "80")
	for _, path := range []string{"api/srvIPXT", "api/clientBeat"} {
		for _, pairs := range [][]string{
			{"dom", "other", "serviceName", "mine"}, {"dom", "other", "groupName", "G"}, {"dom", "other", "serviceName", "G@@other"},
		} {
			f.wantStatus(403, "GET "+path, append(pairs, "ip", "192.0.2.7", "port", "80")...)
		}
		f.wantStatus(200, "GET "+path, "dom", "mine", "ip", "192.0.2.7", "port", "80")
	}
	for _, path := range []string{"service/names", "api/allDomNames"} {
		f.wantStatus(403, "GET "+path)
		f.wantStatus(403, "GET "+path, "namespaceId", "public", "serviceName", "")
	}
	f.wantStatus(403, "GET service/list", "pageNo", "1", "pageSize", "10")
}

// TestAuth_ListsAskForTheWholeNamespace names a service that the caller may read
// in requests that list all of them.
func TestAuth_ListsAskForTheWholeNamespace(t *testing.T) {
	f := closed(t)
	f.user("mine", "mine", ":DEFAULT_GROUP:naming/mine rw")
	f.user("reader", "reads", ":*:naming/* r")
	tokens := map[string]string{"mine": f.login("mine"), "reader": f.login("reader")}
	lists := 0
	for _, r := range Routes() {
		if r.Access.kind != namespaceAccess && r.Access.kind != everywhereAccess {
			continue
		}
		lists++
		request := r.Method + " " + r.Path
		page := []string{"namespaceId", "public", "groupName", "DEFAULT_GROUP", "pageNo", "1", "pageSize", "10"}
		for _, named := range [][]string{
			nil,
			{"serviceName", "mine"},
			{"dom", "mine"},
			{"serviceName", "DEFAULT_GROUP@@mine"},
			{"serviceName", "@@"},
			{"serviceName", "mine", "withInstances", "true"},
			{"serviceName", "mine", "groupName", "*"},
		} {
			f.token = tokens["mine"]
			f.wantStatus(403, request, append(page, named...)...)
			f.token = tokens["reader"]
			f.wantStatus(200, request, append(page, named...)...)
		}
	}
	require.Equal(t, 4, lists)
}

func TestAuth_Messages(t *testing.T) {
	f := closed(t)
	f.user("reader", "reads", ":*:* r")
	message := func(w *httptest.ResponseRecorder) string {
		require.Equal(t, 403, w.Code, w.Body)
		require.Equal(t, "application/json;charset=UTF-8", w.Header().Get("Content-Type"))
		var body struct {
			Status               int
			Error, Message, Path string
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		require.Equal(t, 403, body.Status)
		require.Equal(t, "Forbidden", body.Error)
		return body.Message
	}
	at := []string{"serviceName", "s", "ip", "192.0.2.7", "port", "80"}
	require.Equal(t, "unknown user!", message(f.send("POST instance", at...)))
	require.Equal(t, "unknown user!", message(f.send("POST instance", append(at, "username", "reader", "password", "wrong")...)))
	require.Equal(t, "unknown user!", message(f.send("POST instance", append(at, "username", "who", "password", password)...)))
	require.Equal(t, "authorization failed!", message(f.send("POST instance", append(at, "username", "reader", "password", password)...)))
	require.Equal(t, "token invalid!", message(f.send("POST instance", append(at, "accessToken", "x")...)))
	r := httptest.NewRequest("GET", "/v1/ns/instance/list?serviceName=s", http.NoBody)
	r.Header.Set("Authorization", "Bearer ")
	require.Equal(t, "user not found!", message(f.serve(r)))

	token := f.login("reader")
	for name, change := range map[string]func(*http.Request){
		"Authorization": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) },
		"accessToken":   func(r *http.Request) { r.Header.Set("accessToken", token) },
		"query":         func(r *http.Request) { r.URL.RawQuery += "&accessToken=" + token },
		"password":      func(r *http.Request) { r.URL.RawQuery += "&username=reader&password=" + url.QueryEscape(password) },
	} {
		r := httptest.NewRequest("GET", "/v1/ns/instance/list?serviceName=s", http.NoBody)
		change(r)
		require.Equal(t, 200, f.serve(r).Code, name)
	}
	f.form = true
	f.wantStatus(200, "GET instance/list", "serviceName", "s", "accessToken", token)
	require.Equal(t, "authorization failed!", message(f.send("POST instance", append(at, "accessToken", token)...)), "in a form body")
}

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
}

// TestSB17_AForwardedAddressDoesNotEscapeTheLimit guesses with another address in
// every header that proxies set.
func TestSB17_AForwardedAddressDoesNotEscapeTheLimit(t *testing.T) {
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

func TestAuth_Users(t *testing.T) {
	f := closed(t)
	f.form = true
	f.as("admin")
	const users, page = "/v1/auth/users", "pageNo"
	f.want(`200 {"code":200,"message":"create user ok!","data":null}`, "POST "+users, "username", "ann", "password", password)
	f.want("400 caused: user 'ann' already exist!;", "POST "+users, "username", "ann", "password", password)
	f.want("400 caused: a password has at least 8 characters;", "POST "+users, "username", "bob", "password", "short")
	f.wantStatus(400, "POST "+users, "username", "<b>", "password", password)
	f.wantStatus(400, "POST "+users, "username", "bob")
	f.want(`200 {"totalCount":2,"pageNumber":1,"pagesAvailable":2,"pageItems":[{"username":"admin","password":""}]}`,
		"GET "+users, page, "1", "pageSize", "1")
	f.want(`200 {"totalCount":2,"pageNumber":3,"pagesAvailable":2,"pageItems":[]}`, "GET "+users, page, "3", "pageSize", "1")
	f.want(`200 ["ann"]`, "GET "+users+"/search", "username", "nn")
	f.want(`200 []`, "GET "+users+"/search", "username", "x")

	admin := f.token
	f.token = f.login("ann")
	f.wantStatus(403, "GET "+users, page, "1", "pageSize", "1")
	require.Contains(t, f.wantStatus(403, "PUT "+users, "username", "admin", "newPassword", "another password"), "authorization failed!")
	f.want(`200 {"code":200,"message":"update user ok!","data":null}`, "PUT "+users, "username", "ann", "newPassword", "another password")
	require.Contains(t, f.wantStatus(403, "PUT "+users, "username", "ann", "newPassword", "another password"), "token invalid!", "a new password ends the sessions")
	f.token = ""
	f.want("403 unknown user!", "POST "+users+"/login", "username", "ann", "password", password)
	f.wantStatus(200, "POST "+users+"/login", "username", "ann", "password", "another password")
	f.token = admin
	f.want(`200 {"code":200,"message":"update user ok!","data":null}`, "PUT "+users, "username", "ann", "newPassword", "one more password")
	f.want("400 caused: user 'who' not exist!;", "PUT "+users, "username", "who", "newPassword", "one more password")

	const roles = "/v1/auth/roles"
	f.want("400 caused: role 'ROLE_ADMIN' is not permitted to create!;", "POST "+roles, "role", "ROLE_ADMIN", "username", "ann")
	f.want("400 caused: user 'who' not found!;", "POST "+roles, "role", "r", "username", "who")
	f.want("400 caused: Param 'role' has control characters;", "POST "+roles, "role", "a\r\nb", "username", "ann")
	f.want(`200 {"code":200,"message":"add role ok!","data":null}`, "POST "+roles, "role", "reads", "username", "ann")
	f.want(`200 {"totalCount":1,"pageNumber":1,"pagesAvailable":1,"pageItems":[{"role":"reads","username":"ann"}]}`,
		"GET "+roles, page, "1", "pageSize", "9", "username", "ann")
	f.want(`200 ["ROLE_ADMIN","reads"]`, "GET "+roles+"/search", "role", "")
	f.want("400 caused: the last administrator stays one;", "DELETE "+roles, "role", "ROLE_ADMIN", "username", "admin")
	f.want("400 caused: the last administrator stays one;", "DELETE "+roles, "role", "ROLE_ADMIN")

	const permissions = "/v1/auth/permissions"
	p := []string{"role", "reads", "resource", ":*:*", "action", "r"}
	f.want("400 caused: role none not found!;", "POST "+permissions, "role", "none", "resource", ":*:*", "action", "r")
	f.wantStatus(400, "POST "+permissions, "role", "reads", "resource", ":*:*", "action", "x")
	f.want(`200 {"code":200,"message":"add permission ok!","data":null}`, "POST "+permissions, p...)
	f.want(`200 {"totalCount":1,"pageNumber":1,"pagesAvailable":1,"pageItems":[{"role":"reads","resource":":*:*","action":"r"}]}`,
		"GET "+permissions, page, "1", "pageSize", "9", "role", "reads")
	f.token = ""
	ann := []string{"username", "ann", "password", "one more password"}
	f.wantStatus(200, "GET instance/list", append(ann, "serviceName", "s")...)
	f.token = admin
	f.want(`200 {"code":200,"message":"delete permission ok!","data":null}`, "DELETE "+permissions, p...)
	f.token = ""
	f.wantStatus(403, "GET instance/list", append(ann, "serviceName", "s")...)
	f.token = admin
	f.want(`200 {"code":200,"message":"delete role of user ann ok!","data":null}`, "DELETE "+roles, "role", "reads", "username", "ann")
	f.want(`200 {"code":200,"message":"delete role ok!","data":null}`, "DELETE "+roles, "role", "reads")

	f.want("400 caused: cannot delete admin: admin;", "DELETE "+users, "username", "admin")
	f.want(`200 {"code":200,"message":"delete user ok!","data":null}`, "DELETE "+users, "username", "ann")
	f.token = ""
	f.wantStatus(403, "GET instance/list", append(ann, "serviceName", "s")...)
}

func TestAuth_UsersAreNotManagedWhileItIsOff(t *testing.T) {
	f := newFixture(t)
	for _, r := range Routes() {
		if strings.HasPrefix(r.Path, "/v1/auth/") && !strings.HasSuffix(r.Path, "login") {
			w := f.send(r.Method+" "+r.Path, "username", "u", "password", password, "newPassword", password, "role", "r",
				"resource", "*", "action", "rw", "pageNo", "1", "pageSize", "9")
			require.Equal(t, 403, w.Code, r.Path)
			require.Contains(t, w.Body.String(), "authentication is off")
		}
	}
	require.Zero(t, f.state.View().Applied())
}

func TestAuth_AnswersAboutSeveralServices(t *testing.T) {
	f := closed(t)
	f.user("mine", "mine", ":DEFAULT_GROUP:naming/mine r")
	for i, name := range []string{"mine", "mine-too"} {
		f.push.subscribers = append(f.push.subscribers, push.Subscriber{Service: key(name), Agent: strconv.Itoa(i)})
	}
	f.push.pending = []push.Pending{{Subscriber: f.push.subscribers[1]}}
	f.as("mine")
	require.Contains(t, f.wantStatus(200, "GET service/subscribers", "serviceName", "mine"), `"count":1`)
	require.NotContains(t, f.wantStatus(200, "GET operator/push/state", "detail", "true"), "mine-too")
	f.wantStatus(400, "GET operator/push/state", "reset", "true")
	f.as("admin")
	require.Contains(t, f.wantStatus(200, "GET service/subscribers", "serviceName", "mine"), `"count":2`)
}

func TestAuth_PasswordsOfCheckers(t *testing.T) {
	f := closed(t)
	f.user("reader", "reads", ":*:* r")
	f.user("writer", "writes", ":*:* rw")
	f.as("writer")
	f.want("200 ok", "POST service", "serviceName", "s")
	f.want("200 ok", "PUT cluster", "serviceName", "s", "clusterName", "A", "checkPort", "3306", "useInstancePort4Check", "true",
		"healthChecker", `{"type":"MYSQL","user":"u","pwd":"hush","cmd":"select 1"}`)
	for _, path := range []string{"GET service", "GET catalog/service"} {
		f.as("writer")
		require.Contains(t, f.wantStatus(200, path, "serviceName", "s"), "hush")
		f.as("reader")
		body := f.wantStatus(200, path, "serviceName", "s")
		require.NotContains(t, body, "hush")
		require.Contains(t, body, `"type":"MYSQL","user":"u"`)
	}
}

func TestAuth_HealthNeedsNoToken(t *testing.T) {
	f := closed(t)
	f.want("200 OK", "GET /v1/console/health/liveness")
	f.want("200 OK", "GET /v1/console/health/readiness")
	f.wantStatus(403, "GET operator/metrics")
	f.as("admin")
	require.Contains(t, f.wantStatus(200, "GET operator/metrics"), `"status":"UP"`, "clients ask with their token")
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
