package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
)

// TestRoutes_AreAllThere walks the table: with and without a trailing slash no
// route is unknown, and every other method of its path is.
func TestRoutes_AreAllThere(t *testing.T) {
	f := newFixture(t)
	known := map[string]bool{}
	for _, r := range Routes() {
		require.False(t, known[r.Method+r.Path], "twice")
		known[r.Method+r.Path] = true
		if r.Head {
			known[http.MethodHead+r.Path] = true
		}
	}
	for _, r := range Routes() {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} {
			for _, slash := range []string{"", "/"} {
				w := f.serve(httptest.NewRequest(method, r.Path+slash, http.NoBody))
				missing := strings.Contains(w.Body.String(), "no such api:") || strings.Contains(w.Body.String(), "this part of Nacos") || w.Code == http.StatusNotFound
				require.Equal(t, !known[method+r.Path], missing, "%s %s: %d %s", method, r.Path, w.Code, w.Body)
			}
		}
	}
}

func TestUnknownPaths(t *testing.T) {
	f := newFixture(t)
	tests := []struct {
		method, path, uri string
		status            int
		message           string
	}{
		{"GET", "/v1/ns/instances", "/nacos/v1/ns/instances", 501, "no such api:GET:/nacos/v1/ns/instances"},
		{"OPTIONS", "/v1/ns/instance", "/nacos/v1/ns/instance?x=1", 501, "no such api:OPTIONS:/nacos/v1/ns/instance"},
		{"PUT", "/v1/ns", "/nacos/v1/ns", 501, "no such api:PUT:/nacos/v1/ns"},
		{"GET", "/v1/ns/catalog/nothing", "//nacos/v1/ns/catalog/nothing", 501, "no such api:GET://nacos/v1/ns/catalog/nothing"},
		{"GET", "/v1/cs/configs", "/nacos/v1/cs/configs?dataId=x", 501, "this is a service registry and not a configuration server; it keeps no configuration"},
		{"GET", "/v1/core/cluster/other", "/nacos/v1/core/cluster/other", 501, "this part of Nacos is not offered: GET:/nacos/v1/core/cluster/other"},
		{"POST", "/v1/console/other", "/nacos/v1/console/other", 501, "this part of Nacos is not offered: POST:/nacos/v1/console/other"},
		{"DELETE", "/v1/auth/other", "/nacos/v1/auth/other", 501, "this part of Nacos is not offered: DELETE:/nacos/v1/auth/other"},
		{"GET", "/v2/ns/instance/list", "/nacos/v2/ns/instance/list", 501, "the HTTP API of Nacos 2 and 3 is not offered; clients of Nacos 1 use /v1"},
		{"GET", "/v1/nsx", "/nacos/v1/nsx", 404, "No message available"},
		{"GET", "/", "/nacos/", 404, "No message available"},
	}
	for _, test := range tests {
		r := httptest.NewRequest(test.method, test.path, http.NoBody)
		r.RequestURI = test.uri
		r.Header.Set("Accept", "text/html,*/*") // as Java sends it
		w := f.serve(r)
		require.Equal(t, test.status, w.Code)
		require.Equal(t, "application/json;charset=UTF-8", w.Header().Get("Content-Type"))
		var body struct {
			Timestamp, Error, Message, Path string
			Status                          int
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		require.Equal(t, test.message, body.Message)
		require.Equal(t, test.status, body.Status)
		require.Equal(t, http.StatusText(test.status), body.Error)
		require.Equal(t, strings.Split(test.uri, "?")[0], body.Path)
		_, err := time.Parse("2006-01-02T15:04:05.000-0700", body.Timestamp)
		require.NoError(t, err)
	}
}

func TestOtherSitesAreNotLetIn(t *testing.T) {
	f := newFixture(t)
	for _, method := range []string{"OPTIONS", "GET"} {
		for _, path := range []string{"/v1/console/server/state", "/v1/auth/login", "/v1/ns/instance/list?serviceName=s"} {
			r := httptest.NewRequest(method, path, http.NoBody)
			r.Header.Set("Origin", "https://other.example")
			r.Header.Set("Access-Control-Request-Method", "POST")
			w := f.serve(r)
			require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), "%s %s", method, path)
			if method == "OPTIONS" {
				require.Equal(t, 501, w.Code, path)
			}
		}
	}
}

func TestSB19_NothingComesBackAsMarkup(t *testing.T) {
	const script = `"><script>alert(1)</script>`
	at := map[string]string{"serviceName": "x", "ip": "192.0.2.9", "port": "1", "pageNo": "1", "pageSize": "1"}
	names := []string{
		"clusterName", "clusters", "pageNo", "pageSize", "namespaceId", "serviceName", "ip", "port", "selector", "entry", "value",
		"healthChecker", "metadata", "namespaceName", "customNamespaceId", "namespaceShowName", "namespace", "expr", "instance", "keyword",
		"username", "newPassword", "role", "resource", "action", "dom", "key", "serviceNameParam", "beat", "accessToken",
	}
	f, stranger, admin := newFixture(t), closed(t), closed(t)
	admin.as("admin")
	for _, f := range []*fixture{f, stranger, admin} {
		for _, route := range Routes() {
			for _, name := range names {
				pairs := []string{name, script}
				for other, value := range at {
					if other != name {
						pairs = append(pairs, other, value)
					}
				}
				f.send(route.Method+" "+route.Path, pairs...) // serve checks the headers
			}
		}
	}
	const markup = `<img src=x onerror=alert(1)>`
	f.want("200 ok", "POST instance", "serviceName", "x", "ip", "192.0.2.9", "port", "1", "metadata", `{"k":"`+markup+`","`+markup+`":"k"}`)
	require.Equal(t, markup, f.list("serviceName", "x").Hosts[0].Metadata["k"], "kept as it is")
	f.wantStatus(200, "POST /v1/console/namespaces", "customNamespaceId", "m", "namespaceName", markup, "namespaceDesc", markup)
	require.Contains(t, f.wantStatus(200, "GET /v1/console/namespaces"), markup, "in JSON, which is no page")
	r := httptest.NewRequest("GET", "/v1/ns/x", http.NoBody)
	r.RequestURI = "/nacos/v1/ns/" + strings.Repeat("<script>", 1000)
	w := f.serve(r)
	require.Less(t, w.Body.Len(), 2000)
	require.Contains(t, w.Header().Get("Content-Type"), "application/json")

	w = f.send("GET service", "serviceName", strings.Repeat("long", 1000))
	require.Equal(t, 404, w.Code)
	require.Less(t, w.Body.Len(), 600)
}

func TestBody_IsReadAsAFormOnly(t *testing.T) {
	f := newFixture(t)
	post := func(contentType, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/v1/ns/instance?serviceName=b&ip=192.0.2.7", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		return f.serve(r)
	}
	for _, contentType := range []string{
		"application/x-www-form-urlencoded", "application/x-www-form-urlencoded;charset=UTF-8",
		"Application/X-WWW-Form-URLEncoded ; charset=gbk",
	} {
		require.Equal(t, 200, post(contentType, "port=80").Code, contentType)
	}
	for _, contentType := range []string{"", "application/json", "text/plain", "multipart/form-data", "application/x-www-form-urlencodedx"} {
		require.Equal(t, 400, post(contentType, "port=80").Code, contentType)
	}
	r := httptest.NewRequest("GET", "/v1/ns/instance/list", strings.NewReader("serviceName=b"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, 400, f.serve(r).Code, "a GET has no parameters in its body")
	r = httptest.NewRequest("POST", "/v1/ns/instance?_method=DELETE&serviceName=b&ip=192.0.2.7&port=80", http.NoBody)
	require.Equal(t, 200, f.serve(r).Code)
	require.Len(t, f.hosts("serviceName", "b"), 1, "a method in a parameter means nothing")
}

func TestBody_IsBounded(t *testing.T) {
	f := newFixture(t)
	for _, known := range []bool{true, false} {
		r := httptest.NewRequest("POST", "/v1/ns/instance", strings.NewReader("metadata="+strings.Repeat("x", maxBody)))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if !known {
			r.ContentLength = -1
		}
		w := f.serve(r)
		require.Equal(t, 413, w.Code)
		require.Equal(t, "caused: the body is larger than 1048576 bytes;", w.Body.String())
	}
	r := httptest.NewRequest("POST", "/v1/ns/instance", brokenBody{})
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.ContentLength = -1
	require.Equal(t, 400, f.serve(r).Code)
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("the client is gone") }

func TestInternalErrorsShowNothing(t *testing.T) {
	f := newFixture(t)
	e := gin.New()
	e.GET("/x", f.api.handler(Route{handle: func(*call) (answer, error) { return answer{}, errors.New("secret") }}))
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest("GET", "/x", http.NoBody))
	require.Equal(t, 500, w.Code)
	require.Empty(t, w.Body.String())
}

func TestNew_NeedsItsParts(t *testing.T) {
	_, err := New(Options{})
	require.Error(t, err)
}
