package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/push"
)

// partsOf remembers the pieces in which an answer is written.
type partsOf struct {
	httptest.ResponseRecorder
	pieces [][]byte
}

func (w *partsOf) Write(b []byte) (int, error) {
	w.pieces = append(w.pieces, b)
	return w.ResponseRecorder.Write(b)
}

// TestList_LargeAnswersShareTheirBytes: however many clients are reading a large
// list, it is in memory once.
func TestList_LargeAnswersShareTheirBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for port := range 2000 {
			f.want("200 ok", "POST instance", "serviceName", "large", "ip", "192.0.2.7", "port", strconv.Itoa(port))
		}
		ask := func() *partsOf {
			w := &partsOf{ResponseRecorder: *httptest.NewRecorder()}
			f.engine.ServeHTTP(w, httptest.NewRequest("GET", "/v1/ns/instance/list?serviceName=large", http.NoBody))
			require.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"))
			require.True(t, json.Valid(w.Body.Bytes()))
			return w
		}
		one, other := ask(), ask()
		require.Greater(t, len(one.pieces[0]), 100_000)
		require.Same(t, &one.pieces[0][0], &other.pieces[0][0])
		own := 0
		for _, piece := range one.pieces[1:2] {
			own += len(piece)
		}
		require.Less(t, own, 64, "what differs from answer to answer")
	})
}

func TestList_WholeAnswer(t *testing.T) {
	f := newFixture(t)
	f.want("200 ok", "POST instance", "serviceName", "orders", "ip", "192.0.2.7", "port", "8080", "metadata", `{"version":"2"}`)
	for agent, serviceName := range map[string]string{java14: "DEFAULT_GROUP@@orders", java09: "orders", goSDK: "orders", "": "orders"} {
		f.agent = agent
		body := f.wantStatus(200, "GET instance/list", "serviceName", "orders", "env", "e")
		body = regexp.MustCompile(`"lastRefTime":\d{13},"checksum":"[0-9a-f]+"`).ReplaceAllString(body, `"lastRefTime":1,"checksum":"x"`)
		require.Equal(t, `200 {"hosts":[{"ip":"192.0.2.7","port":8080,"valid":true,"healthy":true,"marked":false,`+
			`"instanceId":"192.0.2.7#8080#DEFAULT#DEFAULT_GROUP@@orders","metadata":{"version":"2"},"enabled":true,"weight":1.0,`+
			`"clusterName":"DEFAULT","serviceName":"`+serviceName+`","ephemeral":true,"instanceHeartBeatInterval":5000,"instanceHeartBeatTimeOut":15000,"ipDeleteTimeout":30000}],`+
			`"dom":"`+serviceName+`","name":"DEFAULT_GROUP@@orders","cacheMillis":3000,"lastRefTime":1,`+
			`"checksum":"x","useSpecifiedURL":false,"clusters":"","env":"e","metadata":{},"reachProtectionThreshold":false}`, "200 "+body)
	}
	f.want("200 {}", "GET instance/list", "serviceName", "orders", "isCheck", "True")
	f.wantStatus(200, "GET instance/list", "serviceName", "orders", "isCheck", "1")
}

func TestList_UnknownServiceIsAShortAnswer(t *testing.T) {
	f := newFixture(t)
	f.want(`200 {"name":"DEFAULT_GROUP@@nobody","clusters":"a,b","cacheMillis":3000,"hosts":[]}`,
		"GET instance/list", "serviceName", "nobody", "clusters", "a,b")
	f.agent = goSDK
	f.want(`200 {"name":"DEFAULT_GROUP@@nobody","clusters":"","cacheMillis":10000,"hosts":[]}`,
		"GET instance/list", "serviceName", "nobody", "udpPort", "50000", "clientIP", "127.0.0.1")
	require.Len(t, f.push.requests, 1, "a later registration must reach it")
}

func TestList_WhoIsPushedTo(t *testing.T) {
	tests := []struct {
		agent   string
		udpPort string
		accept  bool
		asked   bool
		want    int64
	}{
		{java14, "50000", true, true, 10000},
		{java14, "50000", false, true, 3000},
		{java14, "0", true, false, 3000},
		{java14, "", true, false, 3000},
		{java14, "-5", true, false, 3000},
		{goSDK, "50000", true, true, 10000},
		{"Nacos-Java-Client:v0.0.9", "50000", true, false, 3000},
		{"Nacos-CSharp-Client:v0.9.0", "50000", true, true, 10000},
		{"Nacos-CSharp-Client:v0.8.9", "50000", true, false, 3000},
		{"Nacos-C-Client:v1.0.12", "50000", true, true, 10000},
		{"vip-client4cpp:v1.0.11", "50000", true, false, 3000},
		{"Nacos-DNS:v0.4.3", "50000", true, true, 10000},
		{python, "50000", true, false, 3000},
		{"Nacos-Server", "50000", true, false, 3000},
		{"curl/8.0", "50000", true, false, 3000},
		{"", "50000", true, false, 3000},
	}
	for _, test := range tests {
		t.Run(test.agent+" "+test.udpPort, func(t *testing.T) {
			f := newFixture(t)
			f.agent, f.push.accept = test.agent, test.accept
			l := f.list("serviceName", "s", "clusters", "A", "udpPort", test.udpPort, "clientIP", "127.0.0.1", "app", "shop")
			require.Equal(t, test.want, l.CacheMillis)
			if !test.asked {
				require.Empty(t, f.push.requests)
				return
			}
			require.Equal(t, []push.Request{{
				Service: wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: "s"}},
				Shape:   push.Shape{Clusters: "A", Grouped: test.agent == java14}, ClientIP: "127.0.0.1", Port: 50000,
				Requester: netip.MustParseAddr("192.0.2.1"), // httptest's client
				Agent:     test.agent, App: "shop",
			}}, f.push.requests)
		})
	}
	f := newFixture(t)
	f.agent = java14
	f.want(`400 caused: For input string: "abc";`, "GET instance/list", "serviceName", "s", "udpPort", "abc")
	f.want("200 ok", "PUT operator/switches", "entry", "pushEnabled", "value", "false")
	require.Equal(t, int64(3000), f.list("serviceName", "s", "udpPort", "50000").CacheMillis)
	f.want("200 ok", "PUT operator/switches", "entry", "pushEnabled", "value", "true")
	f.want("200 ok", "PUT operator/switches", "entry", "pushVersion", "value", "java:1.4.2")
	require.Equal(t, int64(3000), f.list("serviceName", "s", "udpPort", "50000").CacheMillis)
}

func TestPushed_IsWhatTheClientWouldGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.agent = java14
		k := wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "G", Name: "s"}}
		pushed, ok := Pushed(f.store, f.switches)(k, push.Shape{Grouped: true})
		require.True(t, ok)
		require.Equal(t, f.wantStatus(200, "GET instance/list", "serviceName", "G@@s", "udpPort", "1"), string(pushed))
		f.want("200 ok", "POST instance", "serviceName", "G@@s", "ip", "192.0.2.7", "port", "8080")
		pushed, ok = Pushed(f.store, f.switches)(k, push.Shape{Grouped: true})
		require.True(t, ok)
		require.Equal(t, f.wantStatus(200, "GET instance/list", "serviceName", "G@@s", "udpPort", "1"), string(pushed))
		f.want("200 ok", "PUT operator/switches", "entry", "pushCacheMillis", "value", "20000")
		pushed, ok = Pushed(f.store, f.switches)(k, push.Shape{Grouped: true})
		require.True(t, ok)
		require.Contains(t, string(pushed), `"cacheMillis":20000,`)
	})
}

func TestPushed_NothingWhilePushingIsOff(t *testing.T) {
	f := newFixture(t)
	source := Pushed(f.store, f.switches)
	for _, name := range []string{"s", "unknown"} {
		f.want("200 ok", "POST instance", "serviceName", "s", "ip", "192.0.2.7", "port", "8080")
		k := wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: name}}
		for value, want := range map[string]bool{"false": false, "true": true} {
			f.want("200 ok", "PUT operator/switches", "entry", "pushEnabled", "value", value)
			_, ok := source(k, push.Shape{})
			require.Equal(t, want, ok)
		}
	}
}

func TestSB09_ProtectionIsInTheListOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.want("200 ok", "POST service", "serviceName", "p9", "protectThreshold", "0")
		one := []string{"serviceName", "p9", "ip", "192.0.2.1", "port", "80"}
		two := []string{"serviceName", "p9", "ip", "192.0.2.2", "port", "80"}
		f.want("200 ok", "POST instance", append(one, "healthy", "false")...)
		f.want("200 ok", "POST instance", append(two, "healthy", "false")...)
		for _, healthyOnly := range []string{"true", "false"} {
			l := f.list("serviceName", "p9", "healthyOnly", healthyOnly)
			require.Len(t, l.Hosts, 2)
			require.True(t, l.Hosts[0].Healthy && l.Hosts[1].Healthy && l.ReachProtectionThreshold)
		}
		require.Contains(t, f.wantStatus(200, "GET instance", one...), `"healthy":false`)
		require.Contains(t, f.wantStatus(200, "GET instance/statuses", "key", "public##DEFAULT_GROUP@@p9"), `192.0.2.1:80_false`)

		f.wantStatus(200, "PUT instance/beat", one...)
		l := f.list("serviceName", "p9")
		require.Len(t, l.Hosts, 2)
		require.False(t, l.Hosts[0].Healthy && l.Hosts[1].Healthy)
		require.False(t, l.ReachProtectionThreshold)
		require.Equal(t, []string{"192.0.2.1:80"}, f.hosts("serviceName", "p9", "healthyOnly", "TRUE"))

		f.want("200 ok", "PUT service", "serviceName", "p9", "protectThreshold", "0.8")
		l = f.list("serviceName", "p9", "healthyOnly", "true")
		require.True(t, l.Hosts[0].Healthy && l.Hosts[1].Healthy && l.ReachProtectionThreshold)

		f.want("200 ok", "PUT instance", append(two, "enabled", "false")...)
		require.Equal(t, []string{"192.0.2.1:80"}, f.hosts("serviceName", "p9"))
		time.Sleep(time.Second)
	})
}

func TestList_RawRequestsOfSDKs(t *testing.T) {
	f := newFixture(t)
	for _, target := range []string{
		`/v1/ns/instance?serviceName=G@@raw&ip=192.0.2.7&port=80&namespaceId=&metadata={"a":"b;c"}&`,
		`/v1/ns/instance/?serviceName=G%40%40raw&ip=192.0.2.7&port=80&encoding=UTF-8&nofix=1&accessToken=`,
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.RequestURI = target
		var err error
		r.URL, err = r.URL.Parse(target)
		require.NoError(t, err)
		w := f.serve(r)
		require.Equal(t, "ok", w.Body.String())
	}
	require.Len(t, f.hosts("serviceName", "raw", "groupName", "G"), 1)
}
