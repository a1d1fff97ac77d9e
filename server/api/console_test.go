package api

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConsole_ServerState(t *testing.T) {
	f := newFixture(t)
	f.want(`200 {"version":"1.4.1","standalone_mode":"standalone","function_mode":null}`, "GET /v1/console/server/state")
}

func TestSB24_Health(t *testing.T) {
	f := newFixture(t)
	f.want("200 OK", "GET /v1/console/health/liveness")
	f.want("200 OK", "GET /v1/console/health/readiness")
	f.want("200 ok", "PUT operator/switches", "entry", "overriddenServerStatus", "value", "DOWN")
	f.want("503 Naming is not in readiness: the server status is DOWN", "GET /v1/console/health/readiness")
	f.want("200 ok", "PUT operator/switches", "entry", "overriddenServerStatus", "value", "null")
	f.ready = false
	f.want("503 Naming is not in readiness: the server is starting or stopping", "GET /v1/console/health/readiness")
	f.want("200 OK", "GET /v1/console/health/liveness")
	f.wantStatus(200, "GET instance/list", "serviceName", "s")
}

func TestSB24_HeadOfHealthIsGetWithoutABody(t *testing.T) {
	f := newFixture(t)
	server := httptest.NewServer(f.engine)
	defer server.Close()
	head := func(probe string) int {
		resp, err := server.Client().Head(server.URL + "/v1/console/health/" + probe)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, 200, head("liveness"))
	require.Equal(t, 200, head("readiness"))
	f.want("200 ok", "PUT operator/switches", "entry", "overriddenServerStatus", "value", "DOWN")
	require.Equal(t, 200, head("liveness"))
	require.Equal(t, 503, head("readiness"))
}

func TestConsole_Namespaces(t *testing.T) {
	f := newFixture(t)
	f.want("200 ok", "POST instance", "serviceName", "s", "ip", "192.0.2.7", "port", "80", "namespaceId", "blue")
	f.want("200 ok", "POST instance", "serviceName", "s", "ip", "192.0.2.7", "port", "80")
	const path = "GET /v1/console/namespaces"
	f.want(`200 {"code":200,"message":null,"data":[{"namespace":"","namespaceShowName":"public","quota":200,"configCount":0,"type":0},`+
		`{"namespace":"blue","namespaceShowName":"blue","quota":200,"configCount":0,"type":2}]}`, path)
	f.want(`200 {"namespace":"blue","namespaceShowName":"blue","quota":200,"configCount":0,"type":2,"namespaceDesc":""}`,
		path, "show", "all", "namespaceId", "blue")
	f.want(`200 {"namespace":"","namespaceShowName":"public","quota":200,"configCount":0,"type":0,"namespaceDesc":""}`,
		path, "show", "all", "namespaceId", "")
	f.wantStatus(404, path, "show", "all", "namespaceId", "red")
	require.Equal(t, "true", f.wantStatus(200, path, "checkNamespaceIdExist", "true", "customNamespaceId", "blue"))
	require.Equal(t, "false", f.wantStatus(200, path, "checkNamespaceIdExist", "true", "customNamespaceId", "red"))
	for _, request := range []string{"POST", "PUT", "DELETE"} {
		require.Contains(t, f.wantStatus(501, request+" /v1/console/namespaces", "customNamespaceId", "x"), "cannot be created")
	}
}

func TestLoginIsRefusedHonestly(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/v1/auth/login", "/v1/auth/users/login"} {
		require.Contains(t, f.wantStatus(501, "POST "+path, "username", "nacos", "password", "nacos"), "authentication is not offered yet")
	}
}
