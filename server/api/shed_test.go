package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/server/shed"
)

// crowded is a fixture in which all places of a kind are taken, when taken.
func crowded(t *testing.T) (f *fixture, s *shed.Shedder) {
	t.Helper()
	s, err := shed.New(shed.Options{Places: 2, Wait: func() time.Duration { return 0 }})
	require.NoError(t, err)
	return newFixture(t, func(o *Options) { o.Shed = s }), s
}

func fill(s *shed.Shedder, kinds ...shed.Kind) {
	for _, k := range kinds {
		for s.Enter(k) {
		}
	}
}

const list, beatPath = "/v1/ns/instance/list?serviceName=a", "/v1/ns/instance/beat?serviceName=a&ip=192.0.2.1&port=1"

func TestSB20_TooManyRequestsAreTurnedAway(t *testing.T) {
	f, s := crowded(t)
	ask := func(method, path string) int {
		w := f.serve(httptest.NewRequest(method, path, nil))
		if w.Code == http.StatusServiceUnavailable {
			require.Equal(t, "1", w.Header().Get("Retry-After"), path)
			require.Equal(t, "text/plain;charset=UTF-8", w.Header().Get("Content-Type"), path)
			require.Equal(t, "caused: the server has more requests than it can answer, please try again in a second;", w.Body.String())
		}
		return w.Code
	}
	require.Equal(t, 200, ask("POST", "/v1/ns/instance?serviceName=a&ip=192.0.2.1&port=1"))
	for range 10 {
		require.Equal(t, 200, ask("GET", list), "a place is given back")
		require.Equal(t, 400, ask("POST", "/v1/ns/instance?serviceName=a"), "after a mistake, too")
	}
	fill(s, shed.Read)
	require.Equal(t, 503, ask("GET", list))
	require.Equal(t, 503, ask("GET", "/v1/ns/api/srvIPXT?dom=a"))
	require.Equal(t, 200, ask("POST", "/v1/ns/instance?serviceName=a&ip=192.0.2.1&port=2"))
	require.Equal(t, 200, ask("PUT", beatPath))
	fill(s, shed.Change)
	require.Equal(t, 503, ask("POST", "/v1/ns/instance?serviceName=a&ip=192.0.2.1&port=3"))
	require.Equal(t, 503, ask("DELETE", "/v1/ns/instance?serviceName=a&ip=192.0.2.1&port=1"))
	require.Equal(t, 200, ask("PUT", beatPath), "beats are taken last of all")
	fill(s, shed.Beat)
	require.Equal(t, 503, ask("PUT", beatPath))
	require.Equal(t, 503, ask("GET", "/v1/ns/api/clientBeat?dom=a&ip=192.0.2.1&port=1"))
	for _, path := range []string{
		"/v1/console/health/liveness", "/v1/console/health/readiness", "/v1/ns/operator/metrics",
		"/v1/ns/operator/switches", "/v1/core/cluster/nodes", "/v1/ns/health/server",
	} {
		require.Equal(t, 200, ask("GET", path), "%s is needed most now", path)
	}
	require.Equal(t, 200, ask("PUT", "/v1/ns/operator/switches?entry=pushEnabled&value=true"), "so is what may end the load")
}

// TestSB20_ABeatThatWasTurnedAwayEvictsNobody: the arrival counts, whatever the
// answer was.
func TestSB20_ABeatThatWasTurnedAwayEvictsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := crowded(t)
		require.Equal(t, 200, f.serve(httptest.NewRequest("POST", "/v1/ns/instance?serviceName=a&ip=192.0.2.1&port=1", nil)).Code)
		fill(s, shed.Beat)
		for range 12 { // a minute, twice the time after which the silent are removed
			time.Sleep(5 * time.Second)
			require.Equal(t, 503, f.serve(httptest.NewRequest("PUT", beatPath, nil)).Code)
		}
		require.Contains(t, f.serve(httptest.NewRequest("GET", list, nil)).Body.String(), `"healthy":true`)
		s.Leave(shed.Beat)
		require.Equal(t, 200, f.serve(httptest.NewRequest("PUT", beatPath, nil)).Code)
	})
}
