package api

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCatalog_Services(t *testing.T) {
	f := newFixture(t)
	f.want(`200 {"serviceList":[],"count":0}`, "GET catalog/services", "pageNo", "1", "pageSize", "10")
	f.want("200 ok", "POST instance", "serviceName", "orders", "ip", "192.0.2.7", "port", "80")
	f.want("200 ok", "POST instance", "serviceName", "orders", "ip", "192.0.2.8", "port", "80", "clusterName", "A", "healthy", "false")
	f.want("200 ok", "POST instance", "serviceName", "old-orders", "groupName", "G", "ip", "2001:db8::5", "port", "81", "metadata", "a=b", "weight", "2")
	f.want("200 ok", "POST service", "serviceName", "empty", "metadata", "k=v")
	const (
		empty  = `{"name":"empty","groupName":"DEFAULT_GROUP","clusterCount":0,"ipCount":0,"healthyInstanceCount":0,"triggerFlag":"false"}`
		orders = `{"name":"orders","groupName":"DEFAULT_GROUP","clusterCount":2,"ipCount":2,"healthyInstanceCount":1,"triggerFlag":"false"}`
		old    = `{"name":"old-orders","groupName":"G","clusterCount":1,"ipCount":1,"healthyInstanceCount":1,"triggerFlag":"false"}`
	)
	list := func(count int, services string, pairs ...string) {
		t.Helper()
		f.want(fmt.Sprintf(`200 {"serviceList":[%s],"count":%d}`, services, count), "GET catalog/services",
			append([]string{"pageNo", "1", "pageSize", "10"}, pairs...)...)
	}
	list(3, empty+","+orders+","+old)
	list(2, orders+","+old, "serviceNameParam", "order")
	list(1, orders, "serviceNameParam", "^orders$")
	list(1, old, "groupNameParam", "G$")
	list(2, orders+","+old, "hasIpCount", "true")
	list(1, orders, "instance", "192.0.2.8")
	list(1, orders, "instance", "192.0.2.8:80")
	list(0, "", "instance", "192.0.2.8:81")
	list(1, old, "instance", "2001:db8:0::5")
	list(1, old, "instance", "[2001:db8::5]:81")
	list(0, "", "namespaceId", "other")
	for _, wrong := range [][]string{
		{"instance", "300.1.1.1"}, {"instance", "192.0.2.8:x"}, {"serviceNameParam", "("}, {"hasIpCount", "maybe"}, {"withInstances", "maybe"},
	} {
		f.wantStatus(400, "GET catalog/services", append([]string{"pageNo", "1", "pageSize", "10"}, wrong...)...)
	}
	f.want("400 caused: Required int parameter 'pageNo' is not present;", "GET catalog/services", "pageSize", "10")
	f.want(`400 caused: Failed to convert value of type 'java.lang.String' to required type 'int'; nested exception is `+
		`java.lang.NumberFormatException: For input string: "x";caused: For input string: "x";`,
		"GET catalog/services", "pageNo", "x", "pageSize", "10")
	f.want("400 caused: Failed to convert value of type 'java.lang.String' to required type 'boolean'; nested exception is "+
		"java.lang.IllegalArgumentException: Invalid boolean value [maybe];caused: Invalid boolean value [maybe];",
		"GET catalog/services", "pageNo", "1", "pageSize", "10", "hasIpCount", "maybe")

	f.want(`200 [{"serviceName":"old-orders","groupName":"G","clusterMap":{"DEFAULT":{"hosts":[{"valid":true,"metadata":{"a":"b"},`+
		`"port":81,"ip":"2001:db8::5","weight":2.0,"enabled":true}]}},"metadata":{}}]`,
		"GET catalog/services", "withInstances", "true", "pageNo", "2", "pageSize", "1")
	f.want(`200 [{"serviceName":"empty","groupName":"DEFAULT_GROUP","clusterMap":{},"metadata":{"k":"v"}}]`,
		"GET catalog/services", "withInstances", "true", "pageNo", "0", "pageSize", "1")
}

func TestSB10_CatalogPaging(t *testing.T) {
	f := newFixture(t)
	for i := range 25 {
		f.want("200 ok", "POST instance", "serviceName", fmt.Sprintf("s%02d", i), "ip", "192.0.2.7", "port", fmt.Sprint(1000+i))
		f.want("200 ok", "POST instance", "serviceName", "one", "ip", "192.0.2.7", "port", fmt.Sprint(1000+i))
	}
	for path, names := range map[string]*regexp.Regexp{
		"GET catalog/services":  regexp.MustCompile(`"name":"(\w+)"`),
		"GET catalog/instances": regexp.MustCompile(`"port":(\d+)`),
	} {
		seen := map[string]bool{}
		for page := 1; page <= 4; page++ {
			body := f.wantStatus(200, path, "serviceName", "one", "clusterName", "DEFAULT", "pageNo", fmt.Sprint(page), "pageSize", "10")
			for _, m := range names.FindAllStringSubmatch(body, -1) {
				require.False(t, seen[m[1]])
				seen[m[1]] = true
			}
			var reply struct{ Count int }
			require.NoError(t, json.Unmarshal([]byte(body), &reply))
			require.GreaterOrEqual(t, reply.Count, 25, "the total, past the end too")
		}
		require.GreaterOrEqual(t, len(seen), 25)
		f.wantStatus(400, path, "serviceName", "one", "clusterName", "DEFAULT", "pageNo", "1", "pageSize", "0")
		f.wantStatus(200, path, "serviceName", "one", "clusterName", "DEFAULT", "pageNo", "2147483647", "pageSize", "2147483647")
		require.Len(t, names.FindAllString(f.wantStatus(200, path, "serviceName", "one", "clusterName", "DEFAULT",
			"pageNo", "1", "pageSize", "9999999999"), -1), len(seen))
		require.Empty(t, names.FindAllString(f.wantStatus(200, path, "serviceName", "one", "clusterName", "DEFAULT",
			"pageNo", "9999999999", "pageSize", "10"), -1))
	}
}

func TestCatalog_ServiceAndInstances(t *testing.T) {
	f := newFixture(t)
	s := []string{"serviceName", "orders"}
	f.want("404 caused: service DEFAULT_GROUP@@orders is not found!;", "GET catalog/service", s...)
	f.want("200 ok", "POST service", append(s, "protectThreshold", "0.5", "metadata", "k=v")...)
	f.want("200 ok", "POST instance", append(s, "ip", "192.0.2.7", "port", "80", "app", "shop")...)
	f.want("200 ok", "POST instance", append(s, "ip", "192.0.2.8", "port", "80", "ephemeral", "false",
		"metadata", `{"preserved.heart.beat.timeout":"7000","preserved.instance.id.generator":"snowflake"}`)...)
	f.want("200 ok", "PUT cluster", append(s, "clusterName", "B", "checkPort", "8081", "useInstancePort4Check", "false",
		"healthChecker", `{"type":"http","path":"/ok"}`, "metadata", "c=d")...)
	f.want(`200 {"service":{"name":"orders","protectThreshold":0.5,"groupName":"DEFAULT_GROUP","selector":{"type":"none"},"metadata":{"k":"v"}},`+
		`"clusters":[{"serviceName":"DEFAULT_GROUP@@orders","name":"B","healthChecker":{"type":"HTTP","path":"/ok","headers":"","expectedResponseCode":200},`+
		`"defaultPort":80,"defaultCheckPort":8081,"useIPPort4Check":false,"metadata":{"c":"d"},"sitegroup":"","defCkport":8081,"defIPPort":80,"empty":true},`+
		`{"serviceName":"DEFAULT_GROUP@@orders","name":"DEFAULT","healthChecker":{"type":"TCP"},"defaultPort":80,"defaultCheckPort":80,`+
		`"useIPPort4Check":true,"metadata":{},"sitegroup":"","defCkport":80,"defIPPort":80,"empty":false}]}`, "GET catalog/service", s...)

	page := append(s, "pageNo", "1", "pageSize", "10")
	body := f.wantStatus(200, "GET catalog/instances", append(page, "clusterName", "DEFAULT")...)
	body = regexp.MustCompile(`"lastBeat":\d{13}`).ReplaceAllString(body, `"lastBeat":1`)
	require.Equal(t, `{"list":[{"instanceId":"192.0.2.7#80#DEFAULT#DEFAULT_GROUP@@orders","ip":"192.0.2.7","port":80,"weight":1.0,`+
		`"healthy":true,"enabled":true,"ephemeral":true,"clusterName":"DEFAULT","serviceName":"DEFAULT_GROUP@@orders","metadata":{},`+
		`"lastBeat":1,"marked":false,"app":"shop","instanceHeartBeatInterval":5000,"instanceHeartBeatTimeOut":15000,"ipDeleteTimeout":30000,`+
		`"instanceIdGenerator":"simple"},`+
		`{"instanceId":"0","ip":"192.0.2.8","port":80,"weight":1.0,"healthy":true,"enabled":true,"ephemeral":false,"clusterName":"DEFAULT",`+
		`"serviceName":"DEFAULT_GROUP@@orders","metadata":{"preserved.heart.beat.timeout":"7000","preserved.instance.id.generator":"snowflake"},`+
		`"lastBeat":1,"marked":false,"app":"DEFAULT","instanceHeartBeatInterval":5000,"instanceHeartBeatTimeOut":7000,"ipDeleteTimeout":30000,`+
		`"instanceIdGenerator":"snowflake"}],"count":2}`, body)
	f.want(`200 {"list":[],"count":0}`, "GET catalog/instances", append(page, "clusterName", "B")...)
	f.want("404 caused: cluster C is not found!;", "GET catalog/instances", append(page, "clusterName", "C")...)
	f.want("404 caused: service DEFAULT_GROUP@@none is not found!;", "GET catalog/instances", "serviceName", "none", "clusterName", "A", "pageNo", "1", "pageSize", "1")
	f.want("400 caused: Required String parameter 'clusterName' is not present;", "GET catalog/instances", page...)
	f.want("400 caused: Required String parameter 'serviceName' is not present;", "GET catalog/instances",
		"clusterName", "A", "pageNo", "1", "pageSize", "1")
	f.want("400 caused: Required int parameter 'pageSize' is not present;", "GET catalog/instances",
		append(s, "clusterName", "B", "pageNo", "1")...)
	f.want("404 caused: no ips found for cluster B in service DEFAULT_GROUP@@orders;", "GET instance",
		append(s, "clusterName", "B", "ip", "192.0.2.7", "port", "80")...) // it has settings only

	f.want(`200 {"clusters":[{"name":"B","checkRTBest":9223372036854775807,"checkRTWorst":0,"checkRTNormalized":-1},`+
		`{"name":"DEFAULT","checkRTBest":9223372036854775807,"checkRTWorst":0,"checkRTNormalized":-1}]}`, "GET catalog/rt/service", s...)
	f.want("400 caused: request service doesn't exist;", "GET catalog/rt/service", "serviceName", "none")
}

func TestCluster_Settings(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		set := func(pairs ...string) []string {
			values := map[string]string{
				"serviceName": "s", "clusterName": "A", "checkPort": "80", "useInstancePort4Check": "true", "healthChecker": `{"type":"TCP"}`,
			}
			for i := 0; i < len(pairs); i += 2 {
				values[pairs[i]] = pairs[i+1]
			}
			all := []string{}
			for name, value := range values {
				all = append(all, name, value)
			}
			return all
		}
		f.want("400 caused: service not found:DEFAULT_GROUP@@s;", "PUT cluster", set()...)
		f.want("200 ok", "POST service", "serviceName", "s")
		for _, name := range []string{"serviceName", "clusterName", "checkPort", "useInstancePort4Check", "healthChecker"} {
			f.want("400 caused: Param '"+name+"' is required.;", "PUT cluster", set(name, "")...)
		}
		for _, wrong := range [][]string{
			{"healthChecker", "{"},
			{"healthChecker", "[]"},
			{"clusterName", "a_b"},
			{"checkPort", "65536"},
			{"checkPort", "x", "useInstancePort4Check", "false"},
			{"checkPort", "0", "useInstancePort4Check", "1"},
			{"metadata", "x"},
			{"healthChecker", `{"type":"HTTP","headers":"a b:c"}`},
		} {
			f.wantStatus(400, "PUT cluster", set(wrong...)...)
		}
		f.want("200 ok", "PUT cluster", set("healthChecker", `{"type":"NONE"}`, "checkPort", "x", "useInstancePort4Check", "false")...)
		for text, shown := range map[string]string{
			`{"type":"TCP"}`: `{"type":"TCP"}`, `{"type":"NONE"}`: `{"type":"NONE"}`, `{"type":"other"}`: `{"type":"NONE"}`,
			`{"type":"MYSQL","user":"u","pwd":"p","cmd":"select 1"}`: `{"type":"MYSQL","user":"u","pwd":"p","cmd":"select 1"}`,
		} {
			f.want("200 ok", "PUT cluster", set("healthChecker", text, "serviceName", "DEFAULT_GROUP@@s", "checkPort", "x")...)
			require.Contains(t, f.wantStatus(200, "GET service", "serviceName", "s"), `"clusters":[{"name":"A","healthChecker":`+shown+`,"metadata":{}}]`)
		}
	})
}

func TestHealth_ByHand(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "s", "ip", "192.0.2.7", "port", "80"}
		f.want("400 caused: cluster DEFAULT of service DEFAULT_GROUP@@s is not found!;", "PUT health", append(at, "healthy", "true")...)
		f.want("200 ok", "POST instance", append(at, "ephemeral", "false")...)
		f.want("400 caused: cluster B of service DEFAULT_GROUP@@s is not found!;", "PUT health", append(at, "healthy", "true", "clusterName", "B")...)
		f.want("400 caused: Param 'healthy' is required.;", "PUT health", at...)
		f.want("400 caused: health check is still working, service: DEFAULT_GROUP@@s;", "PUT health", append(at, "healthy", "false")...)
		f.want("200 ok", "PUT cluster", "serviceName", "s", "clusterName", "DEFAULT", "checkPort", "1", "useInstancePort4Check", "true", "healthChecker", `{"type":"NONE"}`)
		for _, path := range []string{"PUT health", "PUT health/instance"} {
			f.want("200 ok", path, append(at, "valid", "false")...)
			require.Contains(t, f.wantStatus(200, "GET instance", at...), `"healthy":false`)
			f.want("200 ok", path, append(at, "healthy", "true")...)
			require.Contains(t, f.wantStatus(200, "GET instance", at...), `"healthy":true`)
		}
		f.want("200 ok", "PUT health", "serviceName", "s", "ip", "192.0.2.9", "port", "1", "healthy", "true")
		require.Contains(t, f.wantStatus(200, "GET health/server"), `{"msg":"Rollcall serves 1 services on port 8848."}`)
	})
}
