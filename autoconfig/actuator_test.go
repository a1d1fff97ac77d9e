package autoconfig

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	discoverymemory "github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
	registrymemory "github.com/rollcall-go/rollcall/registry/memory"
)

// everything exposes all endpoints.
var everything = Property("management.endpoints.exposure", "*")

func post(t *testing.T, app *App, path, body string) (int, string) {
	t.Helper()
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Post("http://"+app.ManagementAddr().String()+path, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(answer)
}

// tree decodes an answer.
func tree(t *testing.T, body string) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &m), body)
	return m
}

func TestAR12_StatusOfTheRegistration(t *testing.T) {
	r := registrymemory.New()
	app := start(t, ConfigYAML(quiet), Backend(r), everything)
	enabled := func() bool { return r.Instances(registry.ServiceID{Name: "orders"})[0].Enabled }
	for _, c := range []struct {
		body   string
		status int
		answer string
		want   string
	}{
		{`{"status":"DOWN"}`, 200, "", "DOWN"},
		{`{"status":"up"}`, 200, "", "UP"},
		{`{"status":"OUT_OF_SERVICE"}`, 400, "UP, DOWN", "UP"},
		{`{"status":null}`, 400, "UP, DOWN", "UP"},
		{`{}`, 400, "UP, DOWN", "UP"},
		{`DOWN`, 400, "JSON", "UP"},
		{``, 400, "JSON", "UP"},
		{`{"status":"DOWN","more":"` + strings.Repeat("x", maxActuatorBody) + `"}`, 413, "JSON", "UP"},
	} {
		status, answer := post(t, app, "/actuator/serviceregistry", c.body)
		require.Equal(t, c.status, status, c.body)
		require.Contains(t, answer, c.answer)
		if c.status == 200 {
			require.Empty(t, answer)
		}
		status, answer = get(t, app, "/actuator/serviceregistry")
		require.Equal(t, 200, status)
		require.Equal(t, c.want, answer)
		require.Equal(t, c.want == "UP", enabled())
	}

	app = start(t, alone, everything)
	status, answer := get(t, app, "/actuator/serviceregistry")
	require.Equal(t, 404, status)
	require.Equal(t, noRegistration, answer)
	status, _ = post(t, app, "/actuator/serviceregistry", `{"status":"UP"}`)
	require.Equal(t, 404, status)
}

func TestAR12_AStatusThatTheRegistryRefusesIsAnError(t *testing.T) {
	app := start(t, ConfigYAML(quiet), Backend(refusingStatus{newFakeRegistry()}), everything)
	status, answer := post(t, app, "/actuator/serviceregistry", `{"status":"DOWN"}`)
	require.Equal(t, 503, status)
	require.Contains(t, answer, "not now")
	_, answer = get(t, app, "/actuator/serviceregistry")
	require.Equal(t, "UP", answer)
}

func TestBR6_NacosDiscovery(t *testing.T) {
	nacos := testutil.NewFakeNacos()
	nacos.RequireLogin("u", "top-secret", time.Hour)
	nacos.Put("public", "DEFAULT_GROUP@@users", testutil.FakeInstance{IP: "127.0.0.9", Port: 1, Healthy: true, Enabled: true, Weight: 2})
	server := httptest.NewServer(nacos)
	defer server.Close()
	var balancer *loadbalance.LoadBalancer
	app := start(t, ConfigYAML(quiet+"cloud.nacos.discovery: {username: u, password: top-secret, access-key: a, secret-key: hidden, metadata: {api-token: mine, zone: a}}\n"),
		Property("cloud.nacos.server-addr", server.Listener.Addr().String()), everything, fx.Populate(&balancer))
	_, err := balancer.Choose(t.Context(), balancer.ID("users"))
	require.NoError(t, err)

	status, body := get(t, app, "/actuator/nacosdiscovery")
	require.Equal(t, 200, status)
	for _, secret := range []string{"top-secret", "hidden"} {
		require.NotContains(t, body, secret)
	}
	shown := tree(t, body)
	properties := shown["NacosDiscoveryProperties"].(map[string]any)
	require.Equal(t, "******", properties["password"])
	require.Equal(t, "******", properties["secret-key"])
	require.Equal(t, map[string]any{"api-token": "******", "zone": "a"}, properties["metadata"])
	require.Equal(t, []any{server.Listener.Addr().String()}, shown["servers"])
	own := shown["registration"].(map[string]any)
	require.Equal(t, "registered", own["state"])
	metadata := own["instance"].(map[string]any)["metadata"].(map[string]any)
	require.Equal(t, "******", metadata["api-token"])
	require.Equal(t, "a", metadata["zone"])
	require.NotEmpty(t, own["lastBeat"])
	service := shown["subscribe"].([]any)[0].(map[string]any)
	require.Equal(t, "users", service["name"])
	require.Equal(t, "DEFAULT_GROUP", service["groupName"])
	require.InDelta(t, 3000, service["cacheMillis"], 0)
	require.Equal(t, true, service["valid"])
	host := service["hosts"].([]any)[0].(map[string]any)
	require.Equal(t, "127.0.0.9", host["ip"])
	require.InDelta(t, 2, host["weight"], 0)

	status, _ = get(t, start(t, ConfigYAML(quiet), Backend(newFakeRegistry()), everything), "/actuator/nacosdiscovery")
	require.Equal(t, 404, status, "no Nacos")
}

// One instance that an old registry answers with must not leave the operator
// without an answer.
func TestBR6_WeightThatIsNoNumberIsShown(t *testing.T) {
	r := registrymemory.New()
	for n, weight := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		i := registry.NewInstance(registry.ServiceID{Name: "users"}, "127.0.0.9", 1+n)
		i.Weight = weight
		require.NoError(t, r.Register(t.Context(), registry.Registration{Instance: i}))
	}
	var balancer *loadbalance.LoadBalancer
	app := start(t, ConfigYAML(quiet), Backend(r, discoverymemory.FromRegistry(r)), everything, fx.Populate(&balancer))
	_, err := balancer.Choose(t.Context(), balancer.ID("users"))
	require.NoError(t, err)
	for _, path := range []string{"/actuator/discovery", "/actuator/loadbalancer"} {
		_, body := get(t, app, path)
		var weights []any
		for _, i := range tree(t, body)["services"].([]any)[0].(map[string]any)["instances"].([]any) {
			weights = append(weights, i.(map[string]any)["weight"])
		}
		require.Equal(t, []any{1.0, 10000.0, 0.0}, weights, path)
	}
}

func TestBR6_DiscoveryAndLoadBalancer(t *testing.T) {
	r := registrymemory.New()
	put := func(port int, weight float64) {
		i := registry.NewInstance(registry.ServiceID{Name: "users"}, "127.0.0.9", port)
		i.Weight = weight
		require.NoError(t, r.Register(t.Context(), registry.Registration{Instance: i}))
	}
	put(1, 1)
	put(2, 0)
	var balancer *loadbalance.LoadBalancer
	app := start(t, ConfigYAML(quiet), Backend(r, discoverymemory.FromRegistry(r)), everything, fx.Populate(&balancer),
		Property("cloud.loadbalancer.outlier.enabled", true))
	_, body := get(t, app, "/actuator/discovery")
	shown := tree(t, body)
	require.Equal(t, "orders", shown["local"].(map[string]any)["serviceId"])
	delete(shown, "local")
	require.Equal(t, map[string]any{"failover": false, "services": []any{}}, shown)
	_, body = get(t, app, "/actuator/loadbalancer")
	require.JSONEq(t, `{"services":[]}`, body)

	for range 3 {
		chosen, err := balancer.Choose(t.Context(), balancer.ID("users"))
		require.NoError(t, err)
		require.Equal(t, 1, chosen.Instance.Port)
		chosen.Done(loadbalance.Outcome{Err: refused(t)})
	}
	_, body = get(t, app, "/actuator/discovery")
	service := tree(t, body)["services"].([]any)[0].(map[string]any)
	require.Equal(t, "users", service["name"])
	require.Equal(t, "memory", service["origin"])
	require.Len(t, service["instances"], 2)
	require.NotEmpty(t, service["fetchedAt"])
	require.NotContains(t, service, "staleSince")

	_, body = get(t, app, "/actuator/loadbalancer")
	service = tree(t, body)["services"].([]any)[0].(map[string]any)
	require.Equal(t, "weighted-random", service["algorithm"])
	require.Contains(t, service["chain"], "outlier")
	first := service["instances"].([]any)[0].(map[string]any)
	require.InDelta(t, 1, first["weight"], 0)
	require.InDelta(t, 3, first["failures"], 0)

	app = start(t, alone, everything)
	for _, path := range []string{"discovery", "loadbalancer"} {
		status, _ := get(t, app, "/actuator/"+path)
		require.Equal(t, 404, status)
	}
}

// refused is the error of a call that could not be connected.
func refused(t *testing.T) error {
	t.Helper()
	_, err := (&http.Client{}).Get("http://127.0.0.1:1/")
	require.Error(t, err)
	return err
}

func TestConfigProps_ValuesWithTheirOriginAndSecretsMasked(t *testing.T) {
	t.Setenv("APP_MAIL_PAUSE", "2s")
	app := start(t, ConfigYAML(quiet+"app.mail.headers: {X-Token: t, X-Source: s}\n"), everything, Property("cloud.discovery.enabled", false),
		Default("server.shutdown-timeout", "1s"), Property("cloud.nacos.password", "p"), Properties("app.mail", mailProperties{Host: "localhost"}))
	_, body := get(t, app, "/actuator/configprops")
	shown := tree(t, body)
	require.Equal(t, "ConfigYAML", shown["file"])
	properties := shown["properties"].(map[string]any)
	for key, want := range map[string]string{
		"application.name":        `{"value":"orders","origin":"ConfigYAML:2"}`,
		"cloud.nacos.password":    `{"value":"******","origin":"property"}`,
		"cloud.nacos.server-addr": `{"value":["127.0.0.1:8848"],"origin":"default"}`,
		"server.shutdown-timeout": `{"value":"1s","origin":"default of the application"}`,
		"app.mail.host":           `{"value":"localhost","origin":"default"}`,
		"app.mail.pause":          `{"value":"2s","origin":"environment variable APP_MAIL_PAUSE"}`,
		"app.mail.headers":        `{"value":{"X-Token":"******","X-Source":"s"},"origin":"ConfigYAML:5"}`,
	} {
		got, err := json.Marshal(properties[key])
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), key)
	}
}

func TestMetrics_NamesAndSingleOnes(t *testing.T) {
	app := start(t, alone, everything, fx.Invoke(func(r prometheus.Registerer, e *gin.Engine) {
		orders := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "orders_total", Help: "Orders."}, []string{"kind", "shop"})
		orders.WithLabelValues("new", "a").Add(2)
		orders.WithLabelValues("new", "b").Add(3)
		orders.WithLabelValues("old", "a").Add(5)
		gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "level"})
		gauge.Set(4)
		summary := prometheus.NewSummary(prometheus.SummaryOpts{Name: "sizes"})
		summary.Observe(7)
		untyped := prometheus.NewUntypedFunc(prometheus.UntypedOpts{Name: "raw"}, func() float64 { return 9 })
		r.MustRegister(orders, gauge, summary, untyped)
		e.GET("/hello", func(*gin.Context) {})
	}))
	get(t, app, "/hello")
	_, body := get(t, app, "/actuator/metrics")
	require.Contains(t, tree(t, body)["names"], "orders_total")

	for path, want := range map[string]string{
		"orders_total": `{"name":"orders_total","description":"Orders.","measurements":[{"statistic":"COUNT","value":10}],
			"availableTags":[{"tag":"kind","values":["new","old"]},{"tag":"shop","values":["a","b"]}]}`,
		"orders_total?tag=kind:new": `{"name":"orders_total","description":"Orders.","measurements":[{"statistic":"COUNT","value":5}],
			"availableTags":[{"tag":"shop","values":["a","b"]}]}`,
		"level": `{"name":"level","description":"","measurements":[{"statistic":"VALUE","value":4}],"availableTags":[]}`,
		"raw":   `{"name":"raw","description":"","measurements":[{"statistic":"VALUE","value":9}],"availableTags":[]}`,
		"sizes": `{"name":"sizes","description":"","measurements":[{"statistic":"COUNT","value":1},{"statistic":"TOTAL","value":7}],"availableTags":[]}`,
	} {
		status, body := get(t, app, "/actuator/metrics/"+path)
		require.Equal(t, 200, status, path)
		require.JSONEq(t, want, body, path)
	}
	_, body = get(t, app, "/actuator/metrics/http_server_requests_seconds?tag=uri:/hello")
	require.InDelta(t, 1, tree(t, body)["measurements"].([]any)[0].(map[string]any)["value"], 0)
	for _, path := range []string{"nothing", "orders_total?tag=kind:none", "orders_total?tag=nothing"} {
		status, _ := get(t, app, "/actuator/metrics/"+path)
		require.Equal(t, 404, status, path)
	}
}

func TestManagementServer_HasTheActuatorToItself(t *testing.T) {
	app := start(t, alone, everything, Property("management.server.port", 0), Property("management.server.address", "127.0.0.1"),
		Property("management.server.context-path", "ops"), fx.Invoke(echoPath))
	require.NotEqual(t, app.Addr().String(), app.ManagementAddr().String())
	client := &http.Client{Timeout: patience}
	status, _ := getWith(t, client, "http://"+app.ManagementAddr().String()+"/ops/actuator/health")
	require.Equal(t, 200, status)
	status, _ = getWith(t, client, "http://"+app.ManagementAddr().String()+"/ops/echo/x")
	require.Equal(t, 404, status)
	status, _ = get(t, app, "/actuator/health")
	require.Equal(t, 404, status)
	status, _ = get(t, app, "/echo/x")
	require.Equal(t, 200, status)
}

func TestManagementServer_Kinds(t *testing.T) {
	for name, c := range map[string]struct {
		server, management int
		separate           bool
	}{
		"unset":                       {8080, -1, false},
		"the web server's":            {8080, 8080, false},
		"another":                     {8080, 8081, true},
		"a free one":                  {8080, 0, true},
		"two free ones":               {0, 0, true},
		"no web server":               {-1, 8081, true},
		"no web server and unset":     {-1, -1, false},
		"a free one for the web only": {0, 8081, true},
	} {
		s := settings{server: &ServerProperties{Port: c.server}, management: &ManagementProperties{Server: ManagementServerProperties{Port: c.management}}}
		require.Equal(t, c.separate, s.managementServer().holds, name)
	}
}

func TestManagementServer_WithoutAWebServer(t *testing.T) {
	app := start(t, alone, Property("server.port", -1), Property("management.server.port", 0), Property("management.server.address", "127.0.0.1"))
	require.Nil(t, app.Addr())
	status, _ := getWith(t, &http.Client{}, "http://"+app.ManagementAddr().String()+"/actuator/health")
	require.Equal(t, 200, status)
}

func TestAR3_Case04_TheManagementPortIsMetadata(t *testing.T) {
	for name, c := range map[string]struct {
		opts []fx.Option
		want map[string]string
	}{
		"none": {nil, map[string]string{}},
		"separate": {
			[]fx.Option{Property("management.server.port", 0), Property("management.server.address", "127.0.0.1"), Property("management.server.context-path", "ops/"), Property("management.endpoints.base-path", "/x")},
			map[string]string{"management.port": "8848", "management.address": "127.0.0.1", "management.context-path": "/ops", "management.endpoints.web.base-path": "/x"},
		},
		"at the moment it listens": {
			[]fx.Option{Property("management.server.port", 0), Property(auto+"register-when", "listening"), fx.Invoke(func(*WebServer) {})},
			map[string]string{"management.port": "8848"},
		},
		"the user's word": {
			[]fx.Option{Property("management.server.port", 0), Property("cloud.nacos.discovery.metadata", map[string]string{"management.port": "1"})},
			map[string]string{"management.port": "1"},
		},
		"not wanted": {
			[]fx.Option{Property("management.server.port", 0), Property(auto+"register-management", false)}, map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newFakeRegistry()
				web, err := (&testutil.Network{}).Listen("127.0.0.1:9000")
				require.NoError(t, err)
				opts := append(c.opts, ConfigYAML(quiet), Backend(r), Listener(web))
				if name != "none" {
					opts = append(opts, ManagementListener(testutil.NewListener()))
				}
				start(t, opts...)
				got := r.registered()
				require.Equal(t, 9000, got.Port)
				delete(got.Metadata, registry.MetadataRegisterSource)
				require.Equal(t, c.want, got.Metadata)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRegistry()
		listener, _ := inMemory(t)
		app := start(t, ConfigYAML(quiet+"management.server.port: 8084\n"), Property("server.port", 8084), listener, Backend(r))
		require.Equal(t, app.Addr(), app.ManagementAddr())
		require.Equal(t, "8848", r.registered().Metadata["management.port"], "the port that is listened on")
	})
}

// refusingStatus takes no status.
type refusingStatus struct{ *fakeRegistry }

func (refusingStatus) SetStatus(_ context.Context, _ registry.Registration, _ registry.Status) error {
	return errors.New("not now")
}

// What a page of another site can have a browser send is refused.
func TestActuator_ChangesNeedAJSONContentType(t *testing.T) {
	app := start(t, ConfigYAML(quiet), Backend(newFakeRegistry()), everything)
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/actuator/serviceregistry", "/actuator/loggers/ROOT"} {
		for kind, want := range map[string]int{
			"text/plain": 415, "application/x-www-form-urlencoded": 415, "": 415, "application/json2": 415,
			"application/json; charset=utf-8": 400, "application/vnd.spring-boot.actuator.v3+json": 400,
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+app.ManagementAddr().String()+path, strings.NewReader("no"))
			require.NoError(t, err)
			if kind != "" {
				req.Header.Set("Content-Type", kind)
			}
			resp, err := client.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, want, resp.StatusCode, "%s %q", path, kind)
		}
	}
}
