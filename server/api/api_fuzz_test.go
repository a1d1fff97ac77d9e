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
	seeds := []string{
		"serviceName=a&ip=192.0.2.1&port=80&metadata={\"a\":\"b\"}",
		"serviceName=G@@a&ip=%5B::1%5D&port=0&weight=1e3&ephemeral=F&clusterName=x",
		"serviceName=a&beat={\"ip\":\"192.0.2.1\",\"port\":80}",
		"pageNo=2147483647&pageSize=2147483647&groupName=*&selector={\"type\":\"label\",\"expression\":\"INSTANCE.metadata.a='b'\"}",
		"entry=limitedUrlMap&value=/:404",
		"entry=batch&value={\"limitedUrlMap\":{\"/\":99}}",
		"key=a##b@@c&instances=[{}]&consistencyType=ephemeral&metadata=a=b&serviceName=c",
		"serviceName=a&udpPort=1&clientIP=::&clusters=,,&isCheck=true",
		"pageNo=1&pageSize=1&instance=[::1]:80&serviceNameParam=(&withInstances=1",
		"serviceName=a&clusterName=A&checkPort=1&useInstancePort4Check=t&healthChecker={\"type\":\"HTTP\",\"path\":\"//x\"}",
		"customNamespaceId=n&namespaceName=n&namespace=n&namespaceShowName=m&namespaceId=n",
		"serviceName=a&ip=192.0.2.7&port=80&ephemeral=false&metadata={\"preserved.instance.id.generator\":\"snowflake\"}",
	}
	for route := range Routes() { // each with some, so that beginning takes no minute
		for i, seed := range seeds {
			switch (route + i) % len(seeds) {
			case 0, 1:
				f.Add(route, seed, "")
			case 2:
				f.Add(route, "", seed)
			}
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
