package interop

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/testserver"
)

// registerWithoutBeats registers 127.0.0.1 with the port and short timeouts over
// plain HTTP and is never heard of again.
func registerWithoutBeats(t *testing.T, server *testserver.Server, service string, port int) {
	t.Helper()
	metadata, err := json.Marshal(shortLived())
	require.NoError(t, err)
	answer, err := server.Call(http.MethodPost, "/v1/ns/instance", url.Values{
		"serviceName": {service}, "ip": {"127.0.0.1"}, "port": {strconv.Itoa(port)}, "metadata": {string(metadata)},
	})
	require.NoError(t, err)
	require.Equal(t, "ok", answer)
}

// changeByOperator gives an instance another weight, as an operator does.
func changeByOperator(t *testing.T, server *testserver.Server, service string, i instance, weight float64) {
	t.Helper()
	metadata, err := json.Marshal(i.Metadata)
	require.NoError(t, err)
	_, err = server.Call(http.MethodPut, "/v1/ns/instance", url.Values{
		"serviceName": {service}, "ip": {i.IP}, "port": {strconv.Itoa(i.Port)}, "clusterName": {i.Cluster},
		"weight": {strconv.FormatFloat(weight, 'g', -1, 64)}, "metadata": {string(metadata)},
	})
	require.NoError(t, err)
}
