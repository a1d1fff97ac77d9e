package api

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/push"
)

func TestService_CreateChangeShowDelete(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		s := []string{"serviceName", "orders"}
		f.want("404 caused: service DEFAULT_GROUP@@orders is not found!;", "GET service", s...)
		f.want("400 caused: service DEFAULT_GROUP@@orders not found!;", "PUT service", append(s, "protectThreshold", "0.5")...)
		f.want("200 ok", "POST service", append(s, "protectThreshold", "0.5", "metadata", "a=1",
			"selector", `{"type":"label","expression":"CONSUMER.label.A = PROVIDER.label.A & CONSUMER.label.B=PROVIDER.label.B"}`)...)
		f.want("400 caused: specified service already exists, serviceName : DEFAULT_GROUP@@orders;", "POST service", s...)
		f.want(`200 {"name":"orders","namespaceId":"public","protectThreshold":0.5,"metadata":{"a":"1"},"selector":`+
			`{"type":"label","expression":"CONSUMER.label.A = PROVIDER.label.A & CONSUMER.label.B=PROVIDER.label.B","labels":["A","B"]},`+
			`"groupName":"DEFAULT_GROUP","clusters":[]}`, "GET service", s...)

		f.want("400 caused: Param 'protectThreshold' is required.;", "PUT service", s...)
		f.want("200 ok", "PUT service", append(s, "protectThreshold", "0.0", "unknown", "ignored")...)
		f.want("200 ok", "POST instance", append(s, "ip", "192.0.2.7", "port", "80")...)
		f.want(`200 {"name":"orders","namespaceId":"public","protectThreshold":0.0,"metadata":{},"selector":{"type":"none"},`+
			`"groupName":"DEFAULT_GROUP","clusters":[{"name":"DEFAULT","healthChecker":{"type":"TCP"},"metadata":{}}]}`, "GET service", s...)

		f.want("200 ok", "DELETE service", s...)
		f.want("400 caused: specified service not exist, serviceName : DEFAULT_GROUP@@orders;", "DELETE service", s...)
		require.Empty(t, f.hosts(s...))

		for _, request := range []string{"POST service", "DELETE service", "GET service"} {
			f.want("400 caused: Required String parameter 'serviceName' is not present;", request, "protectThreshold", "0")
		}
		f.want("400 caused: Param 'serviceName' is required.;", "PUT service", "protectThreshold", "0")
		for _, threshold := range []string{"abc", "NaN", "Infinity"} {
			f.want("400 caused: Failed to convert value of type 'java.lang.String' to required type 'float'; nested exception is "+
				`java.lang.NumberFormatException: For input string: "`+threshold+`";caused: For input string: "`+threshold+`";`,
				"POST service", append(s, "protectThreshold", threshold)...)
		}
		f.want("200 ok", "POST service", s...)
		for _, threshold := range []string{"abc", "NaN", "Infinity"} {
			f.wantStatus(400, "PUT service", append(s, "protectThreshold", threshold)...)
		}
		for _, selector := range []string{`{"type":"label","expression":"nonsense"}`, `{"type":"unknown"}`, `{"type":"other"}`, `[`} {
			f.wantStatus(400, "PUT service", append(s, "protectThreshold", "0", "selector", selector)...)
		}
	})
}

func TestService_OfInstancesAloneHasEmptyMetadata(t *testing.T) {
	f := newFixture(t)
	at := []string{"serviceName", "implicit", "ip", "192.0.2.7", "port", "80"}
	f.want("200 ok", "POST instance", at...)
	f.want(`200 {"name":"implicit","namespaceId":"public","protectThreshold":0.0,"metadata":{},"selector":{"type":"none"},`+
		`"groupName":"DEFAULT_GROUP","clusters":[{"name":"DEFAULT","healthChecker":{"type":"TCP"},"metadata":{}}]}`, "GET service", at[:2]...)
}

func TestService_ClustersAreThoseThatHaveInstances(t *testing.T) {
	f := newFixture(t)
	at := []string{"serviceName", "clusters", "ip", "192.0.2.7", "port", "80", "clusterName", "A"}
	f.want("200 ok", "POST instance", at...)
	require.Contains(t, f.wantStatus(200, "GET service", at[:2]...), `"clusters":[{"name":"A"`)
	f.want("200 ok", "DELETE instance", at...)
	require.Contains(t, f.wantStatus(200, "GET service", at[:2]...), `"clusters":[]`)
}

func TestSB10_ServicePaging(t *testing.T) {
	f := newFixture(t)
	page := func(pairs ...string) (doms []string, count int) {
		t.Helper()
		var reply struct {
			Doms  []string
			Count int
		}
		require.NoError(t, json.Unmarshal([]byte(f.wantStatus(200, "GET service/list", pairs...)), &reply))
		require.NotNil(t, reply.Doms)
		return reply.Doms, reply.Count
	}
	var all []string
	for i := range 25 {
		name := fmt.Sprintf("s%02d", i)
		all = append(all, name)
		f.want("200 ok", "POST instance", "serviceName", name, "ip", "192.0.2.7", "port", "80")
	}
	f.want("200 ok", "POST instance", "serviceName", "OTHER@@x", "ip", "192.0.2.7", "port", "80")
	var walked []string
	for number, size := range map[string]int{"1": 10, "2": 10, "3": 5, "4": 0, "1000000": 0} {
		f.want("200 ok", "POST service", "serviceName", "OTHER@@y")
		doms, count := page("pageNo", number, "pageSize", "10")
		f.want("200 ok", "DELETE service", "serviceName", "OTHER@@y")
		require.Len(t, doms, size)
		require.Equal(t, 25, count)
		walked = append(walked, doms...)
	}
	slices.Sort(walked)
	require.Equal(t, all, walked)
	for _, number := range []string{"0", "-1", "x", "1"} {
		doms, _ := page("pageNo", number, "pageSize", "10")
		require.Equal(t, all[:10], doms)
	}
	for _, size := range []string{"0", "-1", "x"} {
		f.wantStatus(400, "GET service/list", "pageNo", "1", "pageSize", size)
	}
	for _, size := range []string{"100000000", "2147483647", "2147483648", "99999999999999999999"} {
		doms, _ := page("pageNo", "1", "pageSize", size)
		require.Equal(t, all, doms)
		for _, number := range []string{"2147483647", "2147483648", "99999999999999999999"} {
			doms, count := page("pageNo", number, "pageSize", size)
			require.Empty(t, doms)
			require.Equal(t, 25, count)
		}
	}
	doms, count := page("pageNo", "1", "pageSize", "30", "groupName", "*")
	require.Equal(t, 26, count)
	require.Contains(t, doms, "OTHER@@x")
	require.Contains(t, doms, "DEFAULT_GROUP@@s00")

	f.want(`200 {"doms":[],"count":0}`, "GET service/list", "pageNo", "1", "pageSize", "10", "namespaceId", "unknown")
	f.want("400 caused: Param 'pageNo' is required.;", "GET service/list", "pageSize", "10")
	f.want("400 caused: Param 'pageSize' is required.;", "GET service/list", "pageNo", "1")
}

func TestServiceList_Selector(t *testing.T) {
	f := newFixture(t)
	f.want("200 ok", "POST instance", "serviceName", "a", "ip", "192.0.2.7", "port", "80", "metadata", "env=blue")
	f.want("200 ok", "POST instance", "serviceName", "b", "ip", "192.0.2.7", "port", "80", "metadata", "env=green")
	f.want("200 ok", "POST service", "serviceName", "c", "metadata", "env=blue")
	page := []string{"pageNo", "1", "pageSize", "10", "selector"}
	f.want(`200 {"doms":["a"],"count":1}`, "GET service/list", append(page, `{"type":"label","expression":"INSTANCE.metadata.env = 'blue'"}`)...)
	f.want(`200 {"doms":["c"],"count":1}`, "GET service/list", append(page, `{"type":"label","expression":"SERVICE.metadata.env = 'blue'"}`)...)
	f.want(`200 {"doms":["a","b","c"],"count":3}`, "GET service/list", append(page, `{"type":"none"}`)...)
	f.wantStatus(400, "GET service/list", append(page, `{"type":"other"}`)...)
}

func TestSubscribers(t *testing.T) {
	f := newFixture(t)
	key := func(namespace, group, name string) wire.ServiceKey {
		return wire.ServiceKey{Namespace: namespace, ServiceName: wire.ServiceName{Group: group, Name: name}}
	}
	for i, k := range []wire.ServiceKey{
		key("public", "DEFAULT_GROUP", "orders"), key("public", "DEFAULT_GROUP", "orders"),
		key("public", "DEFAULT_GROUP", "old-orders"), key("public", "G", "orders"), key("public2", "DEFAULT_GROUP", "orders"),
	} {
		f.push.subscribers = append(f.push.subscribers, push.Subscriber{
			Service: k, Addr: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(50000+i)), Agent: java14,
		})
	}
	f.push.subscribers[1].App = "shop"
	f.want(`200 {"subscribers":[{"addrStr":"127.0.0.1:50000","agent":"Nacos-Java-Client:v1.4.1","app":"unknown","ip":"127.0.0.1",`+
		`"namespaceId":"public","serviceName":"DEFAULT_GROUP@@orders"},{"addrStr":"127.0.0.1:50001","agent":"Nacos-Java-Client:v1.4.1",`+
		`"app":"shop","ip":"127.0.0.1","namespaceId":"public","serviceName":"DEFAULT_GROUP@@orders"}],"count":3}`,
		"GET service/subscribers", "serviceName", "orders", "pageNo", "1", "pageSize", "2")
	require.Contains(t, f.wantStatus(200, "GET service/subscribers", "serviceName", "orders"), `"count":3`)
	f.want(`200 {"subscribers":[],"count":3}`, "GET service/subscribers", "serviceName", "orders", "pageNo", "9")
	f.want(`200 {"subscribers":[],"count":0}`, "GET service/subscribers", "serviceName", "nobody")
	f.wantStatus(400, "GET service/subscribers", "serviceName", "orders", "pageNo", "1", "pageSize", "0")
}
