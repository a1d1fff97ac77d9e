package server

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSwitches_OutliveARestart sets every switch there is an entry for. What was
// set with debug=true ends with the process.
func TestSwitches_OutliveARestart(t *testing.T) {
	const switches = "ns/operator/switches"
	dir := filepath.Join(t.TempDir(), "data")
	r := on(t, dir)
	shown := func() string { _, body := r.send("GET", switches); return body }
	last := shown()
	for _, set := range [][2]string{
		{"clientBeatInterval", "7000"},
		{"distroServerExpiredMillis", "20000"},
		{"pushCacheMillis", "20000"},
		{"defaultCacheMillis", "4000"},
		{"serviceStatusSynchronizationPeriodMillis", "6000"},
		{"serverStatusSynchronizationPeriodMillis", "3000"},
		{"distroThreshold", "0.5"},
		{"healthCheckTimes", "5"},
		{"check", "false"},
		{"distro", "false"},
		{"pushEnabled", "false"},
		{"disableAddIP", "true"},
		{"sendBeatOnly", "true"},
		{"lightBeatEnabled", "false"},
		{"defaultInstanceEphemeral", "false"},
		{"autoChangeHealthCheckEnabled", "false"},
		{"pushVersion", "java:1.4.2"},
		{"pushVersion", "python:1.0.0"},
		{"pushVersion", "c:1.1.0"},
		{"pushVersion", "go:1.1.0"},
		{"limitedUrlMap", "/nacos/v1/ns/service/list?pageNo=1&x:403"},
		{"masters", "a,b"},
		{"batch", `{"healthCheckWhiteList":["DEFAULT_GROUP@@s"],"incrementalList":["i"],"enableStandalone":false,` +
			`"httpHealthParams":{"max":4000,"min":600,"factor":0.5},"tcpHealthParams":{"max":4000,"min":600,"factor":0.5},` +
			`"mysqlHealthParams":{"max":4000,"min":600,"factor":0.5},"pushCSharpVersion":"1.0.0"}`},
	} {
		r.want("200 ok", "PUT", switches, "entry", set[0], "value", set[1])
		now := shown()
		require.NotEqual(t, last, now, "%s %s", set[0], set[1])
		last = now
	}
	r.want("200 ok", "PUT", switches, "entry", "defaultCacheMillis", "value", "9000", "debug", "true")
	require.NotEqual(t, last, shown())
	r.stop()

	r = on(t, dir)
	require.Equal(t, last, shown())
	_, list := r.send("GET", "ns/instance/list", "serviceName", "nobody")
	require.Contains(t, list, `"cacheMillis":4000,`)
	status, _ := r.do("GET", "/nacos/v1/ns/service/list?pageNo=1&x", nil)
	require.Equal(t, 403, status)
	r.want("200 ok", "PUT", switches, "entry", "overriddenServerStatus", "value", "READ_ONLY")
	r.stop()

	r = on(t, dir)
	require.Equal(t, strings.Replace(last, `"overriddenServerStatus":null`, `"overriddenServerStatus":"READ_ONLY"`, 1), shown())
	r.want("503 server is READ_ONLY now, please try again later!", "PUT", "ns/instance/beat", "serviceName", "s")
	r.stop()
}
