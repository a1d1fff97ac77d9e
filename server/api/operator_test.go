package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMetrics(t *testing.T) {
	f := newFixture(t)
	f.want("200 ok", "POST instance", "serviceName", "m", "ip", "192.0.2.7", "port", "80")
	f.want("200 ok", "POST instance", "serviceName", "m", "ip", "192.0.2.8", "port", "80")
	for _, request := range []string{"GET operator/metrics", "GET ops/metrics"} {
		f.want(`200 {"status":"UP","serviceCount":1,"instanceCount":2,"raftNotifyTaskCount":0,"responsibleServiceCount":1,`+
			`"responsibleInstanceCount":2,"cpu":-1.0,"load":-1.0,"mem":-1.0}`, request)
	}
}

func TestSwitches(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		body := f.wantStatus(200, "GET operator/switches")
		for _, part := range []string{
			`"name":"00-00---000-NACOS_SWITCH_DOMAIN-000---00-00"`, `"masters":null`, `"defaultPushCacheMillis":10000`,
			`"lightBeatEnabled":true`, `"overriddenServerStatus":null`, `"checksum":null`,
		} {
			require.Contains(t, body, part)
		}
		f.want("200 ok", "PUT operator/switches", "entry", "defaultCacheMillis", "value", "2000", "debug", "true")
		require.Equal(t, int64(2000), f.list("serviceName", "s").CacheMillis)
		f.want("400 caused: min default cache time  is too small(<1000);", "PUT ops/switches", "entry", "defaultCacheMillis", "value", "999")
		f.want("400 caused: Required String parameter 'entry' is not present;", "PUT operator/switches", "value", "1")
		f.want("400 caused: Required String parameter 'value' is not present;", "PUT operator/switches", "entry", "x")
		f.want("200 ok", "PUT operator/switches", "entry", "serverMode", "value", "x")
	})
}

func TestSwitches_WhatIsStoredTakesDebugBack(t *testing.T) {
	f := newFixture(t)
	set := func(value, debug string) {
		f.want("200 ok", "PUT operator/switches", "entry", "defaultCacheMillis", "value", value, "debug", debug)
	}
	set("2000", "false")
	set("9000", "true")
	require.Equal(t, int64(9000), f.switches.Load().DefaultCacheMillis)
	set("2000", "false")
	require.Equal(t, int64(2000), f.switches.Load().DefaultCacheMillis)
	before := f.state.View().Applied()
	set("2000", "false")
	require.Equal(t, before, f.state.View().Applied(), "what is so already is not stored again")
}

func TestSB17_TheGateTrustsNoAgent(t *testing.T) {
	tests := map[string]struct{ read, write bool }{
		"UP": {true, true}, "DOWN": {}, "STARTING": {}, "PAUSED": {},
		"WRITE_ONLY": {write: true}, "READ_ONLY": {read: true},
	}
	for status, test := range tests {
		t.Run(status, func(t *testing.T) {
			f := newFixture(t)
			f.want("200 ok", "PUT operator/switches", "entry", "overriddenServerStatus", "value", status)
			refused := "503 server is " + status + " now, please try again later!"
			for _, agent := range []string{java14, "Nacos-Server", "nacos-server:v1.4.1", ""} {
				f.agent = agent
				if test.read {
					f.wantStatus(200, "GET instance/list", "serviceName", "s")
				} else {
					f.want(refused, "GET instance/list", "serviceName", "s")
					f.want(refused, "GET operator/metrics")
				}
				if test.write {
					f.want("200 ok", "POST instance", "serviceName", "s", "ip", "192.0.2.7", "port", "80")
				} else {
					f.want(refused, "POST instance", "serviceName", "s", "ip", "192.0.2.7", "port", "80")
				}
			}
			f.wantStatus(200, "GET /v1/console/health/liveness")
			f.wantStatus(200, "GET /v1/console/server/state")
			f.want("200 ok", "PUT operator/switches", "entry", "overriddenServerStatus", "value", "null")
			f.wantStatus(200, "GET instance/list", "serviceName", "s")
		})
	}
}

func TestGate_LimitedURLs(t *testing.T) {
	f := newFixture(t)
	f.want("200 ok", "PUT operator/switches", "entry", "limitedUrlMap", "value", "/v1/ns/instance/list?serviceName=bad:429,/v1/ns/service:403")
	require.Empty(t, f.wantStatus(429, "GET instance/list", "serviceName", "bad"))
	f.wantStatus(200, "GET instance/list", "serviceName", "good")
	require.Empty(t, f.wantStatus(403, "POST service", "serviceName", "s"))
	for _, spelling := range []string{
		"/v1/ns/service", "/v1/ns/service/", "//v1/ns/service", "/v1//ns///service", "/v1/ns/servic%65", "/%76%31/ns/service//",
		"http://registry.example/v1/ns/service",
	} {
		r := httptest.NewRequest("POST", "/v1/ns/service", http.NoBody)
		r.RequestURI = spelling
		require.Equal(t, 403, f.serve(r).Code, spelling)
	}
	f.want("200 ok", "PUT operator/switches", "entry", "limitedUrlMap", "value", "/v1/ns:503")
	f.wantStatus(503, "GET instance/list", "serviceName", "good")
	f.wantStatus(200, "GET operator/switches")
}
