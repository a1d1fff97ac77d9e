package api

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/server/push"
	"github.com/rollcall-go/rollcall/server/state"
)

func TestServiceNames(t *testing.T) {
	f := newFixture(t)
	f.want(`200 {"services":{},"count":0}`, "GET service/names")
	f.want("200 ok", "POST service", "serviceName", "users")
	f.want("200 ok", "POST service", "serviceName", "orders")
	f.want("200 ok", "POST service", "serviceName", "G@@orders", "namespaceId", "dev")
	f.want(`200 {"services":{"dev":["orders"],"public":["orders","users"]},"count":2}`, "GET service/names")
	f.want(`200 {"services":{"dev":["orders"]},"count":1}`, "GET service/names", "namespaceId", "dev", "responsibleOnly", "true")
	f.want(`200 {"services":{"dev":[],"public":["users"]},"count":2}`, "GET service/names", "expr", "DEFAULT_GROUP@@us.*")
	f.want(`200 {"services":{"none":[]},"count":1}`, "GET service/names", "namespaceId", "none")
	f.wantStatus(400, "GET service/names", "expr", "(")
	f.wantStatus(400, "GET service/names", "expr", strings.Repeat("x", maxPattern+1))
	f.wantStatus(400, "GET service/names", "responsibleOnly", "maybe")
}

func TestServiceChecksum(t *testing.T) {
	f := newFixture(t)
	f.want("404 caused: serviceName not found: DEFAULT_GROUP@@s;", "PUT service/checksum", "serviceName", "s")
	f.want("200 ok", "POST instance", "serviceName", "s", "ip", "192.0.2.7", "port", "80")
	sum := f.wantStatus(200, "PUT service/checksum", "serviceName", "s")
	require.Regexp(t, `^\{"checksum":"[0-9a-f]{32}"\}$`, sum)
	listed := regexp.MustCompile(`"checksum":"[0-9a-f]+"`).FindString(f.wantStatus(200, "GET instance/list", "serviceName", "s"))
	require.Equal(t, "{"+listed+"}", sum)
}

func TestLegacy(t *testing.T) {
	f := newFixture(t)
	f.want(`200 {"count":0,"doms":{}}`, "GET api/allDomNames")
	const known = `200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`
	f.want(known, "GET api/clientBeat", "dom", "old", "beat", `{"ip":"192.0.2.7","port":80,"dom":"old"}`)
	f.want(`200 {"clientBeatInterval":5000,"code":20404}`, "GET api/clientBeat", "dom", "old", "ip", "192.0.2.8", "port", "80")
	f.want("200 ok", "POST instance", "serviceName", "new", "namespaceId", "dev", "ip", "192.0.2.7", "port", "80")
	require.Contains(t, f.wantStatus(200, "GET api/srvIPXT", "dom", "old", "groupName", "ignored"), `"dom":"old","name":"DEFAULT_GROUP@@old"`)
	for _, path := range []string{"api/srvIPXT", "api/clientBeat"} {
		f.want("400 caused: Param 'dom' is required.;", "GET "+path, "serviceName", "old")
		f.wantStatus(400, "GET "+path, "dom", "G@@old")
	}
	f.want(`200 {"count":2,"doms":{"dev":["new"],"public":["old"]}}`, "GET api/allDomNames")
	f.agent = "Nacos-DNS:v1.0.1"
	f.want(`200 {"count":2,"doms":["old"]}`, "GET api/allDomNames")
	f.agent = "Nacos-DNS:v1.0.2"
	f.want(`200 {"count":2,"doms":{"dev":["new"],"public":["old"]}}`, "GET api/allDomNames")
}

// TestLegacy_KnowsTheInstanceRoutesToo: Nacos' legacy controller is one of
// instances as well.
func TestLegacy_KnowsTheInstanceRoutesToo(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "s", "ip", "192.0.2.7", "port", "80"}
		f.want("200 ok", "POST api", at...)
		f.want("200 ok", "PUT api", append(at, "weight", "2")...)
		f.want("200 ok", "PATCH api", append(at, "metadata", "a=b")...)
		f.want(`200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, "PUT api/beat", at...)
		f.want(`200 {"ips":["192.0.2.7:80_true"]}`, "GET api/statuses", "key", "DEFAULT_GROUP@@s")
		f.want(`200 {"updated":["192.0.2.7:80:unknown:DEFAULT:ephemeral"]}`, "PUT api/metadata/batch",
			"serviceName", "s", "metadata", "c=d", "consistencyType", "ephemeral")
		require.Equal(t, f.wantStatus(200, "GET instance", at...), f.wantStatus(200, "GET api", at...))
		require.Contains(t, f.wantStatus(200, "GET api/list", "serviceName", "s"), `"metadata":{"a":"b","c":"d"},"enabled":true,"weight":2.0,`)
		f.want("200 ok", "DELETE api", at...)
		require.Empty(t, f.hosts("serviceName", "s"))
	})
}

func TestPeers_AreRefused(t *testing.T) {
	f := newFixture(t)
	n := 0
	for _, r := range Routes() {
		switch {
		case strings.HasPrefix(r.Path, "/v1/ns/raft/"):
			f.want("500 caused: old raft protocol already stop;", r.Method+" "+r.Path)
		case strings.HasPrefix(r.Path, "/v1/ns/distro/"):
			f.want("501 caused: "+distroNotOffered+";", r.Method+" "+r.Path)
		default:
			continue
		}
		n++
	}
	require.Equal(t, 16, n)
	for body, sender := range map[string]string{
		`{"statuses":"{}","clientIP":"192.0.2.9:8848"}`: "192.0.2.9:8848", `%7B%22clientIP%22%3A%22192.0.2.9%22%7D`: "192.0.2.9", `{}`: "192.0.2.1",
	} {
		w := f.post("/v1/ns/service/status", body)
		require.Equal(t, "400 caused: ip: "+sender+" is not in serverlist;", w)
	}
	require.Equal(t, "400 caused: the body is not the JSON document that is expected here;", f.post("/v1/ns/service/status", "nonsense"))
	f.want("200 ok", "GET operator/server/status", "serverStatus", "x")
	f.want("501 caused: "+logNotOffered+";", "PUT operator/log", "logName", "naming", "logLevel", "DEBUG")
	f.want("501 caused: "+raftNotOffered+";", "POST /v1/core/ops/raft")
	f.want(`200 {"code":200,"message":null,"data":{}}`, "GET /v1/core/ops/idInfo")
}

func TestMembers_ThereIsOne(t *testing.T) {
	f := newFixture(t)
	const self = `{"ip":"192.0.2.200","port":8848,"state":"UP","extendInfo":{"raftPort":"7848","version":"1.4.1"},"address":"192.0.2.200:8848","failAccessCnt":0}`
	const down = `{"ip":"192.0.2.200","port":8848,"state":"DOWN","extendInfo":{"raftPort":"7848","version":"1.4.1"},"address":"192.0.2.200:8848","failAccessCnt":0}`
	f.want(`200 {"servers":[`+self+`]}`, "GET operator/servers", "healthy", "true")
	f.want(`200 {"status":[`+self+`]}`, "GET operator/distro/status", "action", "view")
	f.want(`200 {"status":[`+self+`]}`, "GET operator/distro/status")
	f.want(`200 {}`, "GET operator/distro/status", "action", "other")
	f.want("400 caused: Required String parameter 'serviceName' is not present;", "GET operator/distro/server")
	f.want("400 caused: service not found;", "GET operator/distro/server", "serviceName", "s")
	f.want("200 ok", "POST service", "serviceName", "s")
	f.want(`200 {"responsibleServer":"192.0.2.200:8848"}`, "GET operator/distro/server", "serviceName", "s")
	f.want(`200 {"ip":"192.0.2.200:8848","term":0,"leaderDueMs":0,"heartbeatDueMs":0,"state":"FOLLOWER"}`, "GET operator/cluster/state")

	f.want(`200 {"code":200,"message":null,"data":[`+self+`]}`, "GET /v1/core/cluster/nodes")
	f.want(`200 {"code":200,"message":null,"data":[`+self+`]}`, "GET /v1/core/cluster/nodes", "keyword", "192.0.2")
	f.want(`200 {"code":200,"message":null,"data":[]}`, "GET /v1/core/cluster/nodes", "keyword", "10.")
	f.want(`200 {"code":200,"message":null,"data":`+self+`}`, "GET /v1/core/cluster/self")
	f.want(`200 {"code":200,"message":null,"data":["192.0.2.200:8848"]}`, "GET /v1/core/cluster/simple/nodes")
	f.want(`200 {"code":200,"message":null,"data":"UP"}`, "GET /v1/core/cluster/health")
	require.Equal(t, `200 {"code":200,"message":null,"data":"true"}`, f.post("/v1/core/cluster/report", self))
	require.Equal(t, `200 {"code":200,"message":null,"data":"false"}`, f.post("/v1/core/cluster/report", `{"ip":"192.0.2.1","port":8848}`))
	require.Equal(t, `200 {"code":400,"message":"Node information is illegal","data":null}`, f.post("/v1/core/cluster/report", `{}`))
	require.Equal(t, `200 {"code":500,"message":"this server is alone and looks up no members","data":null}`, f.post("/v1/core/cluster/switch/lookup?type=file", ""))
	require.Equal(t, `200 {"code":200,"message":null,"data":"ok"}`, f.post("/v1/core/cluster/server/leave", `["192.0.2.1:8848"]`))
	require.Equal(t, "400 caused: this server is the only member and cannot leave;", f.post("/v1/core/cluster/server/leave", `["192.0.2.200:8848"]`))

	f.stopping = true
	f.want(`200 {"servers":[]}`, "GET operator/servers", "healthy", "true")
	f.want(`200 {"servers":[`+down+`]}`, "GET operator/servers")
	f.want(`200 {"code":200,"message":null,"data":[]}`, "GET /v1/core/cluster/simple/nodes")
	f.want(`200 {"code":200,"message":null,"data":"DOWN"}`, "GET /v1/core/cluster/health")
}

func TestPushState(t *testing.T) {
	f := newFixture(t)
	f.want(`200 {"succeed":0,"total":0,"ratio":0,"reset":false}`, "GET operator/push/state")
	f.push.counts = push.Counts{Acked: 3, Failed: 1}
	f.push.pending = []push.Pending{{
		Subscriber: push.Subscriber{Service: key("s"), Addr: netip.MustParseAddrPort("127.0.0.1:50000"), Agent: java14}, Sequence: 7, Sends: 2,
	}}
	f.want(`200 {"succeed":3,"total":4,"ratio":0.75,"reset":false,"data":[{"addrStr":"127.0.0.1:50000","agent":"Nacos-Java-Client:v1.4.1",`+
		`"app":"unknown","ip":"127.0.0.1","namespaceId":"public","serviceName":"DEFAULT_GROUP@@s","lastRefTime":7,"retryTimes":1}]}`,
		"GET operator/push/state", "detail", "true")
	f.want(`200 {"succeed":3,"total":4,"ratio":0.75,"reset":true}`, "GET operator/push/state", "reset", "true")
	f.push.counts.Acked++
	f.want(`200 {"succeed":1,"total":1,"ratio":1.0,"reset":false}`, "GET operator/push/state")
	f.wantStatus(400, "GET operator/push/state", "reset", "maybe")
}

func TestNamespaces_CreateChangeDelete(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		const path = " /v1/console/namespaces"
		f.want("200 true", "POST"+path, "customNamespaceId", "dev", "namespaceName", "Development", "namespaceDesc", "<b>ours</b>")
		for _, id := range []string{"dev", "public", "a b", "a/b", strings.Repeat("x", 129)} {
			f.want("200 false", "POST"+path, "customNamespaceId", id, "namespaceName", "again")
		}
		f.want("400 caused: Param 'namespaceName' is required.;", "POST"+path, "customNamespaceId", "x")
		f.wantStatus(400, "POST"+path, "customNamespaceId", "x", "namespaceName", strings.Repeat("x", 257))
		f.want(`200 {"namespace":"dev","namespaceShowName":"Development","quota":200,"configCount":0,"type":2,"namespaceDesc":"<b>ours</b>"}`,
			"GET"+path, "show", "all", "namespaceId", "dev")
		f.want(`200 {"namespace":"","namespaceShowName":"public","quota":200,"configCount":0,"type":0,"namespaceDesc":""}`,
			"GET"+path, "show", "all", "namespaceId", "")
		f.want("200 true", "GET"+path, "checkNamespaceIdExist", "true", "customNamespaceId", "dev")
		f.want("200 false", "GET"+path, "checkNamespaceIdExist", "true", "customNamespaceId", "red")

		f.want("200 true", "PUT"+path, "namespace", "dev", "namespaceShowName", "Dev", "namespaceDesc", "")
		f.want("404 caused: no namespace red found!;", "PUT"+path, "namespace", "red", "namespaceShowName", "Red")
		f.want(`200 {"code":200,"message":null,"data":[{"namespace":"","namespaceShowName":"public","quota":200,"configCount":0,"type":0},`+
			`{"namespace":"dev","namespaceShowName":"Dev","quota":200,"configCount":0,"type":2}]}`, "GET"+path)
		f.want("200 true", "DELETE"+path, "namespaceId", "dev")
		f.want("200 true", "DELETE"+path, "namespaceId", "dev")
		f.wantStatus(404, "GET"+path, "show", "all", "namespaceId", "dev")

		f.want("200 true", "POST"+path, "customNamespaceId", "", "namespaceName", "random")
		f.want("200 true", "POST"+path, "namespaceName", "random too")
		require.Regexp(t, `"namespace":"[0-9a-f-]{36}","namespaceShowName":"random"`, f.wantStatus(200, "GET"+path))
	})
}

func TestNamespaces_InUseWithoutBeingCreated(t *testing.T) {
	f := newFixture(t)
	const path = " /v1/console/namespaces"
	f.want("200 ok", "POST instance", "serviceName", "s", "ip", "192.0.2.7", "port", "80", "namespaceId", "blue")
	f.want(`200 {"namespace":"blue","namespaceShowName":"blue","quota":200,"configCount":0,"type":2,"namespaceDesc":""}`,
		"GET"+path, "show", "all", "namespaceId", "blue")
	f.want("200 true", "GET"+path, "checkNamespaceIdExist", "true", "customNamespaceId", "blue")
	f.want("200 true", "PUT"+path, "namespace", "blue", "namespaceShowName", "Blue")
	require.Contains(t, f.wantStatus(200, "GET"+path), `{"namespace":"blue","namespaceShowName":"Blue"`)
	f.want("200 true", "DELETE"+path, "namespaceId", "blue")
	require.Len(t, f.hosts("serviceName", "s", "namespaceId", "blue"), 1, "the label goes, the services stay")
	require.Contains(t, f.wantStatus(200, "GET"+path), `{"namespace":"blue","namespaceShowName":"blue"`)
}

func TestSwitches_AreStored(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		f.want("200 ok", "PUT operator/switches", "entry", "clientBeatInterval", "value", "7000")
		f.want("200 ok", "PUT ops/switches", "entry", "check", "value", "false")
		require.Equal(t, uint64(2), f.state.View().Switches().Revision)
		require.Contains(t, string(f.state.View().Switches().Object), `"clientBeatInterval":7000`)
		require.False(t, f.switches.Load().HealthCheckEnabled)

		f.want("200 ok", "PUT operator/switches", "entry", "clientBeatInterval", "value", "8000", "debug", "true")
		require.Equal(t, int64(8000), f.switches.Load().ClientBeatInterval)
		require.Equal(t, uint64(2), f.state.View().Switches().Revision, "only here, and only for now")
		f.want("200 ok", "PUT operator/switches", "entry", "serverMode", "value", "x")
		f.wantStatus(400, "PUT operator/switches", "entry", "pushCacheMillis", "value", "9999")
		f.wantStatus(400, "PUT operator/switches", "entry", "check", "value", "true", "debug", "maybe")
		require.Equal(t, uint64(2), f.state.View().Switches().Revision)

		f.apply(&state.SetSwitches{Object: []byte(`{"checkTimes":5}`), Seen: 2})
		require.Equal(t, 5, f.switches.Load().CheckTimes)
	})
}
