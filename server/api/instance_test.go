package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSB01_MetadataRoundTrips(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "meta-svc", "ip", "192.0.2.10", "port", "8080"}
		sent := map[string]string{
			"methods": "add,sub", "q": "a=b&c=d", "note": "say \"hi\" 你好", "empty": "", "line": "a\nb+c %41;",
		}
		text, err := json.Marshal(sent)
		require.NoError(t, err)
		f.want("200 ok", "POST instance", append(at, "metadata", string(text))...)
		require.Equal(t, sent, f.list("serviceName", "meta-svc").Hosts[0].Metadata)

		f.wantStatus(400, "PUT instance", append(at, "metadata", "methods=add,sub")...)
		f.wantStatus(400, "PUT instance", append(at, "metadata", `{"a":{"b":1}}`)...)
		require.Equal(t, sent, f.list("serviceName", "meta-svc").Hosts[0].Metadata, "nothing was changed")

		f.want("200 ok", "PUT instance", append(at, "metadata", "url=http://h/?a=1")...)
		require.Equal(t, map[string]string{"url": "http://h/?a=1"}, f.list("serviceName", "meta-svc").Hosts[0].Metadata)

		f.want("200 ok", "PUT instance", append(at, "metadata", `{"n":1,"b":true}`)...)
		require.Equal(t, map[string]string{"n": "1", "b": "true"}, f.list("serviceName", "meta-svc").Hosts[0].Metadata)
	})
}

func TestSB02_IPv6(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		f.want("200 ok", "POST instance", "serviceName", "six", "ip", "2001:db8::5", "port", "7001")
		f.want("200 ok", "PUT instance", "serviceName", "six", "ip", "2001:db8::5", "port", "7001", "weight", "2")
		f.want(`200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`,
			"PUT instance/beat", "serviceName", "six", "ip", "2001:db8::5", "port", "7001")
		f.want(`200 {"service":"DEFAULT_GROUP@@six","ip":"2001:db8::5","port":7001,"clusterName":"DEFAULT","weight":2.0,`+
			`"healthy":true,"instanceId":"2001:db8::5#7001#DEFAULT#DEFAULT_GROUP@@six","metadata":{},`+
			`"instanceHeartBeatInterval":5000,"instanceHeartBeatTimeOut":15000,"ipDeleteTimeout":30000}`,
			"GET instance", "serviceName", "six", "ip", "[2001:DB8::5]", "port", "7001")
		f.want("200 ok", "POST instance", "serviceName", "six", "ip", "2001:0db8:0:0:0:0:0:5", "port", "7001")
		require.Len(t, f.hosts("serviceName", "six"), 1)
		f.want("200 ok", "DELETE instance", "serviceName", "six", "ip", "[2001:db8::5]", "port", "7001")
		require.Empty(t, f.hosts("serviceName", "six"))
		for _, ip := range []string{"2001:db8:::5", "300.1.1.1"} {
			for _, request := range []string{"POST instance", "PUT instance", "PATCH instance", "DELETE instance", "GET instance", "PUT instance/beat"} {
				f.wantStatus(400, request, "serviceName", "six", "ip", ip, "port", "7001")
			}
		}
	})
}

func TestSB03_PortsAndWeights(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		for _, port := range []string{"1234", "0", "65535"} {
			f.want("200 ok", "POST instance", "serviceName", "edge", "ip", "192.0.2.20", "port", port)
		}
		f.want("200 ok", "POST instance", "serviceName", "edge", "ip", "192.0.2.21", "port", "80")
		require.Equal(t, []string{"192.0.2.20:0", "192.0.2.20:1234", "192.0.2.20:65535", "192.0.2.21:80"}, f.hosts("serviceName", "edge"))
		f.want("200 ok", "DELETE instance", "serviceName", "edge", "ip", "192.0.2.20", "port", "0")
		require.Len(t, f.hosts("serviceName", "edge"), 3)
		for _, port := range []string{"-1", "65536", "abc", "", "1.0", "99999999999"} {
			f.wantStatus(400, "POST instance", "serviceName", "edge", "ip", "192.0.2.20", "port", port)
		}
		for _, weight := range []string{"NaN", "Infinity", "-1", "10001", "1e309", "abc"} {
			f.wantStatus(400, "POST instance", "serviceName", "edge", "ip", "192.0.2.20", "port", "1", "weight", weight)
			f.wantStatus(400, "DELETE instance", "serviceName", "edge", "ip", "192.0.2.20", "port", "1", "weight", weight)
		}
		for _, weight := range []string{"0", "10000"} {
			f.want("200 ok", "POST instance", "serviceName", "edge", "ip", "192.0.2.20", "port", "1", "weight", weight)
		}
	})
}

func TestSB03_ManyAtOnce(t *testing.T) {
	f := newFixture(t)
	var failed atomic.Int32
	send := func(method string, port int) {
		w := httptest.NewRecorder()
		f.engine.ServeHTTP(w, httptest.NewRequest(method, fmt.Sprint("/v1/ns/instance?serviceName=edge&ip=192.0.2.20&port=", port), http.NoBody))
		if w.Body.String() != "ok" {
			failed.Add(1)
		}
	}
	var workers sync.WaitGroup
	for worker := range 20 {
		workers.Go(func() {
			for port := 1 + worker*10; port <= (worker+1)*10; port++ {
				send("POST", port)
				if port%2 == 0 {
					send("DELETE", port)
				}
			}
		})
	}
	workers.Wait()
	require.Zero(t, failed.Load())
	require.Len(t, f.hosts("serviceName", "edge"), 100)
}

func TestSB04_GroupsAndNames(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"ip", "192.0.2.30", "port", "80"}
		f.want("200 ok", "POST instance", append(at, "serviceName", "g1", "groupName", "")...)
		require.Equal(t, "DEFAULT_GROUP@@g1", f.list("serviceName", "g1").Name)
		f.want("200 ok", "POST instance", append(at, "serviceName", "G1@@pay", "groupName", "G2")...)
		require.Len(t, f.hosts("serviceName", "pay", "groupName", "G1"), 1)
		require.Len(t, f.hosts("serviceName", "G1@@pay"), 1)
		require.Empty(t, f.hosts("serviceName", "pay", "groupName", "G2"))
		for _, name := range []string{"@@pay", "G1@@", "A@@B@@C", "a/b", "a b"} {
			f.wantStatus(400, "POST instance", append(at, "serviceName", name)...)
		}
		f.wantStatus(400, "POST instance", append(at, "serviceName", "@n", "groupName", "@g@")...)
		f.wantStatus(400, "GET instance/list", "serviceName", "a/b")
		f.want("200 ok", "POST instance", append(at, "serviceName", "G3@@n", "groupName", "   ")...)
		require.Equal(t, "G3@@n", f.list("serviceName", "n", "groupName", "G3").Name)
		f.want("200 ok", "POST instance", append(at, "serviceName", "c@d", "groupName", "a@b")...)
		require.Equal(t, "a@b@@c@d", f.list("serviceName", "c@d", "groupName", "a@b").Name)
		f.want(`200 {"doms":["pay"],"count":1}`, "GET service/list", "pageNo", "1", "pageSize", "10", "groupName", "G1")
		for _, group := range []string{"a@", "A@@B", "a b", "@"} {
			f.wantStatus(400, "GET service/list", "pageNo", "1", "pageSize", "10", "groupName", group)
		}
		require.Len(t, f.hosts("dom", "g1"), 1, "the legacy name of the parameter")
	})
}

func TestSB04_AGroupMayBeginWithAnythingItMayHave(t *testing.T) {
	f := newFixture(t)
	for _, group := range []string{"2024-group", "0", "-g", ".g", ":g", "_g", "@g", "g", "Z"} {
		f.want("200 ok", "POST instance", "serviceName", "pay", "groupName", group, "namespaceId", group, "ip", "192.0.2.30", "port", "80")
		at := []string{"namespaceId", group, "pageNo", "1", "pageSize", "10"}
		f.want(`200 {"doms":["pay"],"count":1}`, "GET service/list", append(at, "groupName", group)...)
		f.want(`200 {"doms":["`+group+`@@pay"],"count":1}`, "GET service/list", append(at, "groupName", "*")...)
		f.want(`200 {"services":{"`+group+`":["pay"]},"count":1}`, "GET service/names", "namespaceId", group)
		f.want(`200 {"serviceList":[{"name":"pay","groupName":"`+group+`","clusterCount":1,"ipCount":1,"healthyInstanceCount":1,`+
			`"triggerFlag":"false"}],"count":1}`, "GET catalog/services", at...)
	}
}

func TestSB26_Deregistering(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "d26", "ip", "192.0.2.50", "port", "80"}
		f.want("200 ok", "DELETE instance", at...)
		f.want("200 ok", "DELETE instance", append(at, "ephemeral", "false")...)
		f.want("200 ok", "POST instance", at...)
		f.want("400 caused: the instance is ephemeral, and ephemeral=false was asked for; nothing was changed;",
			"DELETE instance", append(at, "ephemeral", "false")...)
		require.Len(t, f.hosts("serviceName", "d26"), 1)
		f.want("200 ok", "PUT operator/switches", "entry", "defaultInstanceEphemeral", "value", "false")
		f.want("200 ok", "DELETE instance", at...)
		require.Empty(t, f.hosts("serviceName", "d26"), "without the flag it is found whatever its kind")
		f.wantStatus(400, "DELETE instance", append(at, "clusterName", "a_b")...)
		f.want("200 ok", "DELETE service", "serviceName", "d26")
		f.want("400 caused: specified service not exist, serviceName : DEFAULT_GROUP@@d26;", "DELETE service", "serviceName", "d26")
	})
}

func TestUpdate_JavaMustNameWhatExists(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "u", "ip", "192.0.2.60", "port", "80"}
		f.agent = java14
		require.Contains(t, f.wantStatus(400, "PUT instance", at...), "caused: service not found, namespace: public, service: DEFAULT_GROUP@@u;")
		f.want("200 ok", "POST instance", append(at, "weight", "3", "metadata", "a=b")...)
		require.Contains(t, f.wantStatus(400, "PUT instance", "serviceName", "u", "ip", "192.0.2.60", "port", "81"), "caused: instance not exist:")
		f.want("200 ok", "PUT instance", append(at, "enabled", "false")...)
		require.Empty(t, f.hosts("serviceName", "u"), "a disabled instance is out of the list at once")
		f.want("200 ok", "PUT instance", at...)
		host := f.list("serviceName", "u").Hosts[0]
		require.Equal(t, 1.0, host.Weight)
		require.Empty(t, host.Metadata, "what is omitted is reset")

		for _, agent := range []string{goSDK, python, java09, "curl/8.0", ""} {
			f.agent = agent
			f.want("200 ok", "PUT instance", "serviceName", "new", "ip", "192.0.2.61", "port", "80", "enable", "True")
			f.want("200 ok", "DELETE instance", "serviceName", "new", "ip", "192.0.2.61", "port", "80")
			f.want("200 ok", "DELETE service", "serviceName", "new")
		}
	})
}

func TestUpdate_OfAnSDKIsItsOwnRegistration(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "own", "ip", "192.0.2.62", "port", "80"}
		for _, agent := range []string{goSDK, python, "Nacos-CSharp-Client:v0.9.0", "Nacos-C-Client:v1.0.12"} {
			f.agent = agent
			f.want("200 ok", "POST instance", append(at, "weight", "2", "metadata", "a=b")...)
			f.want("200 ok", "PUT instance", append(at, "weight", "5", "enable", "false")...)
			require.Empty(t, f.hosts("serviceName", "own"), agent)
			f.want("200 ok", "POST instance", append(at, "weight", "2", "metadata", "a=b")...)
			host := f.list("serviceName", "own").Hosts[0]
			require.Equal(t, 2.0, host.Weight, agent)
			require.Equal(t, map[string]string{"a": "b"}, host.Metadata, agent)
		}
	})
}

func TestUpdate_OfAnOperatorKeepsWhatItNames(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		for i, agent := range []string{java14, "Mozilla/5.0", "curl/8.0", ""} {
			at := []string{"serviceName", fmt.Sprint("operated", i), "ip", "192.0.2.63", "port", "80"}
			register := append([]string{"weight", "2", "metadata", "a=b"}, at...)
			f.agent = goSDK
			f.want("200 ok", "POST instance", register...)
			f.agent = agent
			f.want("200 ok", "PUT instance", append(at, "weight", "5")...)
			host := f.list(at[:2]...).Hosts[0]
			require.Equal(t, 5.0, host.Weight, agent)
			require.Empty(t, host.Metadata, agent)
			f.agent = goSDK
			f.want("200 ok", "POST instance", register...)
			host = f.list(at[:2]...).Hosts[0]
			require.Equal(t, 5.0, host.Weight, "named by the operator: %s", agent)
			require.Equal(t, map[string]string{"a": "b"}, host.Metadata, "not named: %s", agent)
		}
	})
}

func TestPatch_ChangesOnlyWhatIsNamed(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "p", "ip", "192.0.2.60", "port", "80", "cluster", "C"}
		require.Contains(t, f.wantStatus(400, "PATCH instance", at...), "instance not found")
		f.want("200 ok", "POST instance", append(at, "weight", "3", "metadata", "a=b")...)
		f.want("200 ok", "PATCH instance", append(at, "metadata", `{"c":"d"}`)...)
		host := f.list("serviceName", "p").Hosts[0]
		require.Equal(t, 3.0, host.Weight)
		require.Equal(t, map[string]string{"c": "d"}, host.Metadata)
		f.want("200 ok", "PATCH instance", append(at, "weight", "8")...)
		require.Contains(t, f.wantStatus(200, "GET instance", "serviceName", "p", "ip", "192.0.2.60", "port", "80", "clusterName", "C"), `"weight":8.0`)
		f.wantStatus(400, "PATCH instance", append(at, "weight", "-1")...)
		f.want("200 ok", "PATCH instance", append(at, "enable", "false")...)
		require.Len(t, f.hosts("serviceName", "p"), 1, "the alias enable is not read here")
		f.want("200 ok", "PATCH instance", append(at, "enabled", "false")...)
		require.Empty(t, f.hosts("serviceName", "p"))
	})
}

func TestDetail(t *testing.T) {
	f := newFixture(t)
	f.want("404 caused: no service DEFAULT_GROUP@@d found!;", "GET instance", "serviceName", "d", "ip", "192.0.2.7", "port", "8080")
	f.want("200 ok", "POST instance", "serviceName", "d", "ip", "192.0.2.7", "port", "8080", "clusterName", "A", "weight", "8", "metadata", `{"k":"<v>"}`)
	f.want("404 caused: no ips found for cluster DEFAULT in service DEFAULT_GROUP@@d;", "GET instance", "serviceName", "d", "ip", "192.0.2.7", "port", "8080")
	f.want("404 caused: no matched ip found!;", "GET instance", "serviceName", "d", "ip", "192.0.2.8", "port", "8080", "clusterName", "A")
	f.want(`200 {"service":"DEFAULT_GROUP@@d","ip":"192.0.2.7","port":8080,"clusterName":"A","weight":8.0,"healthy":true,`+
		`"instanceId":"192.0.2.7#8080#A#DEFAULT_GROUP@@d","metadata":{"k":"<v>"},"instanceHeartBeatInterval":5000,"instanceHeartBeatTimeOut":15000,"ipDeleteTimeout":30000}`,
		"GET instance", "serviceName", "d", "ip", "192.0.2.7", "port", "8080", "clusterName", "A")
	for _, missing := range []string{"serviceName", "ip", "port"} {
		pairs := []string{}
		for _, name := range []string{"serviceName", "ip", "port"} {
			if name != missing {
				pairs = append(pairs, name, "80")
			}
		}
		for _, request := range []string{"GET instance", "POST instance"} {
			text := f.wantStatus(400, request, pairs...)
			require.Equal(t, fmt.Sprintf("caused: Param '%s' is required.;", missing), text)
		}
	}
}

func TestSB07_EffectiveTimesAreShown(t *testing.T) {
	f := newFixture(t)
	at := []string{"serviceName", "times", "ip", "192.0.2.70", "port", "80"}
	for metadata, want := range map[string]string{
		`{}`: `"instanceHeartBeatInterval":5000,"instanceHeartBeatTimeOut":15000,"ipDeleteTimeout":30000}`,
		`{"preserved.heart.beat.interval":"30","preserved.heart.beat.timeout":"120","preserved.ip.delete.timeout":"180"}`:     `"instanceHeartBeatInterval":5000,"instanceHeartBeatTimeOut":15000,"ipDeleteTimeout":30000}`,
		`{"preserved.heart.beat.interval":"1000","preserved.heart.beat.timeout":"3000","preserved.ip.delete.timeout":"6000"}`: `"instanceHeartBeatInterval":1000,"instanceHeartBeatTimeOut":3000,"ipDeleteTimeout":6000}`,
	} {
		f.want("200 ok", "POST instance", append(at, "metadata", metadata)...)
		require.Contains(t, f.wantStatus(200, "GET instance/list", "serviceName", "times"), `"ephemeral":true,`+want)
		require.Contains(t, f.wantStatus(200, "GET instance", at...), `,`+want)
	}
}

func TestNamespacesAndClustersAreApart(t *testing.T) {
	f := newFixture(t)
	at := []string{"serviceName", "n", "ip", "192.0.2.7", "port", "80"}
	f.want("200 ok", "POST instance", append(at, "namespaceId", "blue")...)
	f.want("200 ok", "POST instance", append(at, "clusterName", "A")...)
	f.want("200 ok", "POST instance", append(at, "cluster", "B", "namespaceId", "")...)
	require.Len(t, f.hosts("serviceName", "n", "namespaceId", "blue"), 1)
	require.Len(t, f.hosts("serviceName", "n", "namespaceId", "public"), 2)
	require.Len(t, f.hosts("serviceName", "n", "clusters", "A"), 1)
	require.Len(t, f.hosts("serviceName", "n", "clusters", "A,B,none"), 2)
	require.Empty(t, f.hosts("serviceName", "n", "clusters", "none"))
	require.Contains(t, f.wantStatus(400, "POST instance", append(at, "clusterName", "a_b")...),
		"caused: cluster name can only have these characters: 0-9a-zA-Z-, current: a_b")
	f.wantStatus(400, "POST instance", "serviceName", "new", "ip", "192.0.2.7", "port", "80", "clusterName", "a_b")
	f.wantStatus(404, "GET service", "serviceName", "new")
	require.Contains(t, f.wantStatus(400, "POST instance", "serviceName", strings.Repeat("x", 5000)+"/", "ip", "192.0.2.7", "port", "80"), "dom name can only")
}
