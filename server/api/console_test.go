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
	f.limited = "persistent data cannot be changed"
	f.want("200 OK, but persistent data cannot be changed", "GET /v1/console/health/readiness")
	f.stopping = true
	f.want("503 Naming is not in readiness: the server is stopping", "GET /v1/console/health/readiness")
	f.want("200 OK", "GET /v1/console/health/liveness")
	f.wantStatus(200, "GET instance/list", "serviceName", "s")

	f.stopping, f.unready = false, []string{"the instances are being loaded", "the users too"}
	f.want("503 Naming is not in readiness: the instances are being loaded; the users too", "GET /v1/console/health/readiness")
	f.want("200 OK", "GET /v1/console/health/liveness")
	f.want("503 server is STARTING now, please try again later!", "GET instance/list", "serviceName", "s")
	f.want("200 ok", "PUT operator/switches", "entry", "overriddenServerStatus", "value", "UP")
	f.want("503 server is STARTING now, please try again later!", "GET instance/list", "serviceName", "s")
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
