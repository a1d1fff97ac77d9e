package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzRequests sends anything to every route: nothing panics, nothing is a fault
// of the server, and a list is always JSON with its hosts.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		"serviceName=a&ip=192.0.2.1&port=80&metadata={\"a\":\"b\"}",
		"serviceName=G@@a&ip=%5B::1%5D&port=0&weight=1e3&ephemeral=F&clusterName=x",
		"serviceName=a&beat={\"ip\":\"192.0.2.1\",\"port\":80}",
		"pageNo=2147483647&pageSize=2147483647&groupName=*&selector={\"type\":\"label\",\"expression\":\"INSTANCE.metadata.a='b'\"}",
		"entry=limitedUrlMap&value=/:404",
		"entry=batch&value={\"limitedUrlMap\":{\"/\":99}}",
		"key=a##b@@c&instances=[{}]&consistencyType=ephemeral&metadata=a=b&serviceName=c",
		"serviceName=a&udpPort=1&clientIP=::&clusters=,,&isCheck=true",
	} {
		for route := range Routes() {
			f.Add(route, seed, "")
			f.Add(route, "", seed)
		}
	}
	f.Fuzz(func(t *testing.T, route int, query, body string) {
		fx := newFixture(t)
		all := Routes()
		r := all[uint(route)%uint(len(all))]
		for range 2 { // the second one finds what the first has left
			fx.send("GET instance/list", "serviceName", "a") // and everybody else
			req := httptest.NewRequest(r.Method, r.Path, strings.NewReader(body))
			req.URL.RawQuery = query
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			fx.engine.ServeHTTP(w, req)
			if w.Code == http.StatusInternalServerError && !strings.Contains(w.Body.String(), "old raft protocol") {
				t.Fatalf("%s %s?%s %q: %d", r.Method, r.Path, query, body, w.Code)
			}
			if w.Code == http.StatusOK && strings.Contains(w.Header().Get("Content-Type"), "json") && !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%s %s?%s %q: no JSON: %s", r.Method, r.Path, query, body, w.Body)
			}
		}
	})
}
