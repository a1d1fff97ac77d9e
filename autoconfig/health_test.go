package autoconfig

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
	discoverymemory "github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/registry"
	registrymemory "github.com/rollcall-go/rollcall/registry/memory"
)

func indicator(name string, readiness bool, check func(context.Context) Health) fx.Option {
	return fx.Supply(fx.Annotate(HealthIndicator{Name: name, Readiness: readiness, Check: check}, fx.ResultTags(`group:"health.indicators"`)))
}

func always(s HealthStatus) func(context.Context) Health {
	return func(context.Context) Health { return Health{Status: s} }
}

func TestHealth_TheWorstComponentIsTheWhole(t *testing.T) {
	for name, c := range map[string]struct {
		of     []HealthStatus
		want   HealthStatus
		status int
	}{
		"nothing":  {nil, HealthUp, 200},
		"up":       {[]HealthStatus{HealthUp}, HealthUp, 200},
		"unknown":  {[]HealthStatus{HealthUnknown, HealthUp}, HealthUp, 200},
		"out":      {[]HealthStatus{HealthUp, HealthOutOfService}, HealthOutOfService, 503},
		"down":     {[]HealthStatus{HealthOutOfService, HealthDown, HealthUp}, HealthDown, 503},
		"nonsense": {[]HealthStatus{"FINE"}, HealthUp, 200},
	} {
		t.Run(name, func(t *testing.T) {
			opts := []fx.Option{alone}
			for i, s := range c.of {
				opts = append(opts, indicator(string(rune('a'+i)), false, always(s)))
			}
			status, body := get(t, start(t, opts...), "/actuator/health")
			require.Equal(t, c.status, status)
			require.Contains(t, body, `{"status":"`+string(c.want)+`","components":`)
		})
	}
}

func TestHealth_ComponentsAndDetails(t *testing.T) {
	app := start(t, alone,
		indicator("db", false, func(context.Context) Health {
			return Health{Status: HealthUp, Details: map[string]any{"pool": 3}}
		}),
		indicator("broken", false, func(context.Context) Health { panic("oh") }))
	_, body := get(t, app, "/actuator/health")
	require.JSONEq(t, `{"status":"DOWN","components":{
		"broken":{"status":"DOWN","details":{"error":"check panicked: oh"}},
		"db":{"status":"UP","details":{"pool":3}},
		"livenessState":{"status":"UP"},"readinessState":{"status":"UP"}}}`, body)
}

func TestHealth_ChecksRunTogetherAndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context) Health { <-ctx.Done(); return Health{Status: HealthDown} }
		listener, client := inMemory(t)
		start(t, alone, listener, indicator("a", false, slow), indicator("b", false, slow))
		began := time.Now()
		status, _ := getWith(t, client, "http://app/actuator/health")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, healthCheckTimeout, time.Since(began))
	})
}

func TestHealth_ReadinessAsksOnlyWhoHasASay(t *testing.T) {
	app := start(t, alone, indicator("silent", false, always(HealthDown)))
	status, body := get(t, app, "/actuator/health/readiness")
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"status":"UP","components":{"readinessState":{"status":"UP"}}}`, body)

	app = start(t, alone, indicator("loud", true, always(HealthDown)))
	status, body = get(t, app, "/actuator/health/readiness")
	require.Equal(t, 503, status)
	require.Contains(t, body, `"loud":{"status":"DOWN"}`)
	status, _ = get(t, app, "/actuator/health/liveness")
	require.Equal(t, 200, status, "liveness asks nobody")
}

func TestHealth_NotReadyWhileStarting(t *testing.T) {
	var during int
	app := start(t, alone, fx.Invoke(func(lc fx.Lifecycle, w *WebServer) {
		lc.Append(fx.StartHook(func() {
			during, _ = getWith(t, &http.Client{}, "http://"+w.Addr().String()+"/actuator/health/readiness")
		}))
	}))
	require.Equal(t, 503, during, "it listens and has not started yet")
	status, _ := get(t, app, "/actuator/health/readiness")
	require.Equal(t, 200, status)
}

func TestHealth_IndicatorsNeedNamesOfTheirOwn(t *testing.T) {
	for _, opts := range [][]fx.Option{
		{indicator("", false, always(HealthUp))},
		{indicator("a", false, nil)},
		{indicator("a", false, always(HealthUp)), indicator("a", false, always(HealthUp))},
		{indicator("readinessState", false, always(HealthUp))},
	} {
		_, err := New(append(opts, alone)...)
		require.ErrorContains(t, err, "health indicator")
	}
}

func TestActuator_ShowsWhatIsExposed(t *testing.T) {
	for lists, want := range map[[2]string][2]int{
		{"health", ""}:             {200, 404},
		{"prometheus", ""}:         {404, 200},
		{"*", ""}:                  {200, 200},
		{"health,prometheus", ""}:  {200, 200},
		{"*", "prometheus"}:        {200, 404},
		{"*", "loggers, health"}:   {404, 200},
		{"health,prometheus", "*"}: {404, 404},
	} {
		app := start(t, alone, Property("management.endpoints.exposure", lists[0]), Property("management.endpoints.exclude", lists[1]),
			Property("management.endpoints.base-path", "manage/"))
		health, _ := get(t, app, "/manage/health")
		metrics, text := get(t, app, "/manage/prometheus")
		require.Equal(t, want, [2]int{health, metrics}, lists)
		if metrics == 200 {
			require.Contains(t, text, "go_goroutines")
			require.Contains(t, text, "process_start_time_seconds")
		}
	}
	_, err := New(alone, Property("management.endpoints.exposure", "health,beans"))
	require.EqualError(t, err, `management.endpoints.exposure: "health,beans" "beans" is not an endpoint, known are health, serviceregistry, nacosdiscovery, discovery, loadbalancer, configprops, metrics, loggers, prometheus (property)`)
}

func TestActuator_ARouteInTheWayIsAnErrorAndNoPanic(t *testing.T) {
	for name, path := range map[string]string{"the same": "/actuator/health", "everything": "/*any"} {
		_, err := New(alone, fx.Invoke(func(e *gin.Engine) { e.GET(path, func(*gin.Context) {}) }))
		require.ErrorContains(t, err, "the application has a route in the way of GET /actuator/health", name)
		require.ErrorContains(t, err, "management.endpoints.base-path", name)
	}
}

func TestBR7_DiscoveryThatOnlyLooksUpIsHealthyOnceItHasStarted(t *testing.T) {
	r := registrymemory.New()
	require.NoError(t, r.Register(t.Context(), registry.Registration{Instance: registry.NewInstance(registry.ServiceID{Name: "users"}, "127.0.0.1", 1)}))
	app := start(t, ConfigYAML(quiet), Backend(r, discoverymemory.FromRegistry(r)), Property("cloud.nacos.discovery.register-enabled", false))
	_, body := get(t, app, "/actuator/health")
	require.Contains(t, body, `"discoveryClient":{"status":"UP","details":{"services":["users"]}}`)
}

func TestBR8_TheRegistryHasASayInReadinessOnlyOnRequest(t *testing.T) {
	for _, say := range []bool{false, true} {
		app := start(t, ConfigYAML(quiet), // nobody listens on the port of the registry
			Property("cloud.nacos.server-addr", "127.0.0.1:1"), Property("cloud.nacos.discovery.fail-fast", false),
			Property("management.health.registry-affects-readiness", say))
		status, body := get(t, app, "/actuator/health")
		require.Equal(t, 503, status)
		require.Contains(t, body, `"nacosDiscovery":{"status":"DOWN"}`)
		status, _ = get(t, app, "/actuator/health/readiness")
		require.Equal(t, map[bool]int{false: 200, true: 503}[say], status)
		status, _ = get(t, app, "/actuator/health/liveness")
		require.Equal(t, 200, status)
	}
}

type serverStatus struct {
	status string
	err    error
	login  error
}

func (s serverStatus) LoginError() error { return s.login }

func (s serverStatus) ServerStatus(context.Context) (string, error) { return s.status, s.err }

func TestNacosIndicator(t *testing.T) {
	for want, server := range map[HealthStatus][]serverStatus{
		HealthUp: {{status: "UP"}}, HealthDown: {{status: "DOWN"}, {err: errors.New("refused")}}, HealthUnknown: {{status: "WARM_UP"}},
	} {
		for _, s := range server {
			require.Equal(t, Health{Status: want}, nacosIndicator(s, false).Check(t.Context()), s)
		}
	}
	refused := nacosIndicator(serverStatus{status: "UP", login: errors.New("no such user: ann")}, false).Check(t.Context())
	require.Equal(t, Health{Status: HealthUp, Details: map[string]any{"login": "failed"}}, refused)
}

func TestIndicators_CanBeSwitchedOff(t *testing.T) {
	app := start(t, ConfigYAML(quiet), Property("cloud.nacos.discovery.register-enabled", false),
		Property("management.health.discovery-client.enabled", false), Property("management.health.nacos-discovery.enabled", false))
	status, body := get(t, app, "/actuator/health")
	require.Equal(t, 200, status)
	require.NotContains(t, body, "iscovery")
}

func TestActuator_HeadIsGetWithoutABody(t *testing.T) {
	app := start(t, alone)
	for path, want := range map[string]int{"": 200, "/liveness": 200, "/readiness": 200, "/other": 404} {
		resp, err := http.Head("http://" + app.Addr().String() + "/actuator/health" + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, path)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestHealth_OfDiscoveryByItsKeys(t *testing.T) {
	for name, c := range map[string]struct {
		opts []fx.Option
		want string
	}{
		"defaults": {nil, `"discoveryComposite":{"status":"UP","components":{"discoveryClient":{"status":"UP","details":{"services":["orders"]}}}}`},
		"alone": {
			[]fx.Option{Property("cloud.discovery.client.composite-indicator.enabled", false)},
			`"discoveryClient":{"status":"UP","details":{"services":["orders"]}},"livenessState"`,
		},
		"described": {
			[]fx.Option{Property("cloud.discovery.client.health-indicator.include-description", true)},
			`"details":{"description":"services of nacos, simple","services":["orders"]}`,
		},
		"without a query": {
			[]fx.Option{Property("cloud.discovery.client.health-indicator.use-services-query", false)},
			`"components":{"discoveryClient":{"status":"UP"}}`,
		},
	} {
		r := registrymemory.New()
		_, body := get(t, start(t, append(c.opts, ConfigYAML(quiet), Backend(r, discoverymemory.FromRegistry(r)))...), "/actuator/health")
		require.Contains(t, body, c.want, name)
	}
	app := start(t, alone)
	_, body := get(t, app, "/actuator/health")
	require.NotContains(t, body, "discovery")
}

func TestHealth_WithoutAQueryAStaleListIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &failing{Source: discoverymemory.New()}
		source.Put(registry.NewInstance(registry.ServiceID{Name: "users"}, "127.0.0.1", 1))
		listener, client := inMemory(t)
		var c *discovery.Client
		start(t, ConfigYAML(quiet), Backend(newFakeRegistry(), source), listener, fx.Populate(&c),
			Property("cloud.discovery.client.health-indicator.use-services-query", false))
		_, err := c.Snapshot(t.Context(), c.ID("users"))
		require.NoError(t, err)
		status, _ := getWith(t, client, "http://app/actuator/health")
		require.Equal(t, 200, status)
		source.down.Store(true)
		time.Sleep(5 * time.Minute)
		_, err = c.Snapshot(t.Context(), c.ID("users"))
		require.NoError(t, err, "the last list is still used")
		_, body := getWith(t, client, "http://app/actuator/health")
		require.Contains(t, body, `"discoveryClient":{"status":"DOWN"}`)
	})
}

// failing is a source that can go down.
type failing struct {
	*discoverymemory.Source
	down atomic.Bool
}

func (f *failing) Fetch(ctx context.Context, id registry.ServiceID) (discovery.Listing, error) {
	if f.down.Load() {
		return discovery.Listing{}, errors.New("down")
	}
	return f.Source.Fetch(ctx, id)
}
