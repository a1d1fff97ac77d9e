package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

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
