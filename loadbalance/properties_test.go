package loadbalance_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func TestProperties_DefaultsAreValid(t *testing.T) {
	require.NoError(t, loadbalance.DefaultProperties().Validate())
}

// keyTest is the test that shows what a key does, and how it sets the key.
type keyTest struct{ test, sets string }

// keyTests has every key of the block in its order. Each test fails when the key
// is taken for its default.
var keyTests = []struct {
	key string
	keyTest
}{
	{"enabled", keyTest{}}, // whoever assembles an application looks at it
	{"nacos.enabled", keyTest{"TestNacosEnabled_IsTheAlgorithmAndTheCluster", "Nacos.Enabled"}},
	{"configurations", keyTest{"TestDR1_PresetsAndChains", "preset("}},
	{"chain", keyTest{"TestDR1_PresetsAndChains", "p.Chain"}},
	{"algorithm", keyTest{"TestDR2_LeastActiveTakesTheIdlest", "p.Algorithm"}},
	{"hash-key", keyTest{"TestHashKey_IsAKey", "p.HashKey"}},
	{"zone", keyTest{"TestDR13_ZoneWithSpillOver", "p.Zone"}},
	{"prefer-same-cluster", keyTest{"TestNacosEnabled_IsTheAlgorithmAndTheCluster", "PreferSameCluster"}},
	{"min-available", keyTest{"TestDR13_ZoneWithSpillOver", "p.MinAvailable"}},
	{"ip-type", keyTest{"TestDR1_IPType", "ipType("}},
	{"service-discovery.timeout", keyTest{"TestServiceDiscoveryTimeout_BoundsTheFirstList", "ServiceDiscovery.Timeout"}},
	{"hint", keyTest{"TestDR1_HintComesFromTheHeaderElseTheConfiguration", "p.Hint"}},
	{"hint-header-name", keyTest{"TestDR1_HintComesFromTheHeaderElseTheConfiguration", "p.HintHeaderName"}},
	{"sticky-session.instance-id-cookie-name", keyTest{"TestDR1_StickyCookieLeadsToItsInstance", "InstanceIDCookieName"}},
	{"sticky-session.add-service-instance-cookie", keyTest{"TestDR9_Transformers", "AddServiceInstanceCookie"}},
	{"health-check.initial-delay", keyTest{"TestDR5_PathsPortsAndKeys", "HealthCheck.InitialDelay"}},
	{"health-check.interval", keyTest{"TestDR5_IntervalsTimeoutAndThresholdsAreKeys", "HealthCheck.Interval"}},
	{"health-check.timeout", keyTest{"TestDR5_IntervalsTimeoutAndThresholdsAreKeys", "HealthCheck.Timeout"}},
	{"health-check.path", keyTest{"TestDR5_PathsPortsAndKeys", "h.Path"}},
	{"health-check.port", keyTest{"TestDR5_PathsPortsAndKeys", "h.Port"}},
	{"health-check.refetch-instances", keyTest{"TestDR5_RefetchProbesWhatNobodyCalls", "RefetchInstances"}},
	{"health-check.refetch-instances-interval", keyTest{"TestDR5_RefetchProbesWhatNobodyCalls", "RefetchInstancesInterval"}},
	{"health-check.repeat-health-check", keyTest{"TestDR5_PathsPortsAndKeys", "RepeatHealthCheck"}},
	{"health-check.update-results-list", keyTest{"TestDR5_UpdateResultsList", "UpdateResultsList"}},
	{"health-check.unhealthy-threshold", keyTest{"TestDR5_IntervalsTimeoutAndThresholdsAreKeys", "UnhealthyThreshold"}},
	{"health-check.healthy-threshold", keyTest{"TestDR5_IntervalsTimeoutAndThresholdsAreKeys", ".HealthyThreshold"}},
	{"health-check.fail-open", keyTest{"TestDR4_FailsOpenWithAMetric", "FailOpen"}},
	{"retry.enabled", keyTest{"TestDR7_KeysOfRetry", "r.Enabled"}},
	{"retry.retry-on-all-operations", keyTest{"TestDR7_KeysOfRetry", "OnAllOperations"}},
	{"retry.retry-on-all-exceptions", keyTest{"TestDR7_KeysOfRetry", "OnAllExceptions"}},
	{"retry.max-retries-on-same-service-instance", keyTest{"TestDR7_KeysOfRetry", "MaxSame"}},
	{"retry.max-retries-on-next-service-instance", keyTest{"TestDR7_KeysOfRetry", "MaxNext"}},
	{"retry.retryable-status-codes", keyTest{"TestDR7_KeysOfRetry", "StatusCodes"}},
	{"retry.retryable-exceptions", keyTest{"TestDR7_KeysOfRetry", "r.Exceptions"}},
	{"retry.retry-on-connect-error", keyTest{"TestDR7_KeysOfRetry", "OnConnectError"}},
	{"retry.avoid-previous-instance", keyTest{"TestDR7_KeysOfRetry", "AvoidPreviousInstance"}},
	{"retry.backoff.enabled", keyTest{"TestDR7_BackoffGrowsAndKeepsTheDeadline", "Enabled: true"}},
	{"retry.backoff.min-backoff", keyTest{"TestDR7_BackoffGrowsAndKeepsTheDeadline", "Min:"}},
	{"retry.backoff.max-backoff", keyTest{"TestDR7_BackoffGrowsAndKeepsTheDeadline", "Max:"}},
	{"retry.backoff.jitter", keyTest{"TestDR7_BackoffGrowsAndKeepsTheDeadline", "Jitter:"}},
	{"retry.budget-percent", keyTest{"TestDR7_BudgetBoundsRetriesToAShareOfTheCalls", "BudgetPercent"}},
	{"subset.instance-id", keyTest{"TestDR3_SubsetIsDrawnForTheCallerThatIsNamed", "Subset.InstanceID"}},
	{"subset.size", keyTest{"TestDR3_SubsetsOfDifferentCallersDiffer", "Subset.Size"}},
	{"api-version.required", keyTest{"TestDR1_APIVersion", "Required"}},
	{"api-version.default", keyTest{"TestDR1_APIVersion", "Default"}},
	{"api-version.header", keyTest{"TestDR1_APIVersion", "Header"}},
	{"api-version.query-parameter", keyTest{"TestDR1_APIVersion", "QueryParameter"}},
	{"api-version.path-segment", keyTest{"TestDR1_APIVersion", "PathSegment"}},
	{"api-version.media-type-parameters", keyTest{"TestDR1_APIVersion", "MediaTypeParameters"}},
	{"api-version.fallback-to-available-instances", keyTest{"TestDR1_APIVersion", "FallbackToAvailableInstances"}},
	{"x-forwarded.enabled", keyTest{"TestDR9_Transformers", "XForwarded.Enabled"}},
	{"preserve-host", keyTest{"TestDR9_HostHeader", "p.PreserveHost"}},
	{"outlier.enabled", keyTest{"TestDR11_DeadInstanceIsNotCalledAgainAndAgain", "Outlier.Enabled"}},
	{"outlier.connection-failure-count-threshold", keyTest{"TestDR12_ThresholdTimesAndShareAreKeys", "Outlier.Threshold"}},
	{"outlier.circuit-trip-timeout-factor", keyTest{"TestDR12_ThresholdTimesAndShareAreKeys", "Outlier.Factor"}},
	{"outlier.circuit-trip-max-timeout", keyTest{"TestDR12_ThresholdTimesAndShareAreKeys", "Outlier.MaxTimeout"}},
	{"outlier.active-connections-limit", keyTest{"TestDR12_ActiveLimit", "Outlier.ActiveLimit"}},
	{"outlier.max-ejected-percent", keyTest{"TestDR12_ThresholdTimesAndShareAreKeys", "Outlier.MaxEjectedPercent"}},
	{"warm-up", keyTest{"TestDR16_NewInstancesAreWarmedUp", "p.WarmUp"}},
	{"use-unhealthy-when-empty", keyTest{"TestDR15_UnhealthyOnly", "p.UseUnhealthyWhenEmpty"}},
	{"stats.enabled", keyTest{"TestDR10_StatisticsLeaveWithTheInstance", "Stats.Enabled"}},
	{"stats.include-path", keyTest{"TestDR10_StatisticsLeaveWithTheInstance", "IncludePath"}},
	{"eager-load.clients", keyTest{"TestEagerLoad_AsksBeforeTheFirstCall", "EagerLoad.Clients"}},
	{"http.connect-timeout", keyTest{"TestTransport_ConnectionsByService", "connect-timeout"}},
	{"http.response-timeout", keyTest{"TestTransport_ConnectionsByService", "response-timeout"}},
	{"http.max-idle-conns-per-host", keyTest{"TestTransport_ConnectionsByService", "max-idle-conns-per-host"}},
	{"http.max-conns-per-host", keyTest{"TestTransport_ConnectionsByService", "max-conns-per-host"}},
	{"http.balanced-hosts", keyTest{"TestDR9_BalancedHostsLimitWhoIsAService", "HTTP.BalancedHosts"}},
	{"clients", keyTest{"TestClients_OverrideForSingleServices", "p.Clients"}},
}

// A key without an effect is worse than none.
func TestProperties_EveryKeyHasATest(t *testing.T) {
	tests := testutil.TestBodies(t)
	var listed []string
	for _, k := range keyTests {
		listed = append(listed, k.key)
		if k.test != "" {
			require.Contains(t, tests, k.test, k.key)
			require.Contains(t, tests[k.test], k.sets, "%s does not set %s", k.test, k.key)
		}
	}
	require.Equal(t, allKeys("", reflect.TypeFor[loadbalance.Properties]()), listed)
}

// allKeys returns every key of the block, from the tags.
func allKeys(prefix string, t reflect.Type) (keys []string) {
	for n := range t.NumField() {
		f := t.Field(n)
		key := prefix + f.Tag.Get("mapstructure")
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, allKeys(key+".", f.Type)...)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

// Without nacos.enabled the balancer is Spring's own: round robin, and no cluster
// goes before another.
func TestNacosEnabled_IsTheAlgorithmAndTheCluster(t *testing.T) {
	list := []registry.Instance{
		inst(1, in("N")), inst(2, in("N"), func(i *registry.Instance) { i.Weight = 1000 }), inst(3, in("S")),
	}
	for _, c := range []struct {
		nacos, prefer bool
		want, policy  string
	}{
		{true, true, "12", loadbalance.PolicyWeightedRandom},
		{true, false, "123", loadbalance.PolicyWeightedRandom},
		{false, true, "123", loadbalance.PolicyRoundRobin},
	} {
		o := with(func(p *loadbalance.Properties) { p.Nacos.Enabled, p.PreferSameCluster = c.nacos, c.prefer })
		o.Cluster, o.Rand = "N", seeded()
		l := having(t, o, list...)
		counts := map[string]int{}
		for range 9000 {
			r, err := l.Choose(t.Context(), orders)
			require.NoError(t, err)
			counts[r.Instance.IP[len("192.0.2."):]]++
		}
		require.Equal(t, c.want, keys(counts), "%+v", c)
		state, _ := l.State(orders)
		require.Equal(t, c.policy, state.Algorithm)
		if c.policy == loadbalance.PolicyRoundRobin {
			require.Equal(t, map[string]int{"1": 3000, "2": 3000, "3": 3000}, counts, "weights do not count")
		} else {
			require.Greater(t, counts["2"], 8900)
		}
	}
}

func TestHashKey_IsAKey(t *testing.T) {
	o := with(func(p *loadbalance.Properties) {
		p.Algorithm, p.HashKey = loadbalance.PolicyConsistentHash, "header:User"
	})
	l := having(t, o, inst(1), inst(2), inst(3), inst(4), inst(5))
	users := map[string]bool{}
	for n := range 50 {
		where := going(t, l, header("User", fmt.Sprint(n)))
		require.Len(t, where, 1)
		users[where] = true
	}
	require.Len(t, users, 5)
	require.Equal(t, "12345", going(t, l, header("Client", "7")))
}

func TestOverride_ReadsTextAndMergesOverTheCommonValues(t *testing.T) {
	common := loadbalance.DefaultProperties()
	common.Hint = map[string]string{"a": "1"}
	common.Retry.StatusCodes = []int{500, 502, 503}
	before := common.Clone()
	merged, err := common.Override(map[string]any{
		"retry": map[string]any{
			"retryable-status-codes": "503,504", "backoff": map[string]any{"minBackoff": "20", "max_backoff": "1s", "jitter": "0.25"},
			"max-retries-on-next-service-instance": "",
		},
		"retry.retryable-exceptions": []any{"io"},
		"hint":                       map[string]any{"b": "2"},
		"health-check.path.default":  "/x",
		"health-check.path.a.b":      "",
		"health-check":               map[string]any{"interval": "10s", "fail-open": "off", "timeout": "-1"},
		"api-version":                map[string]any{"media-type-parameters": map[string]any{"application/vnd.x": "v"}},
		"outlier.enabled":            true,
		"warm-up":                    1500,
		"subset.size":                7,
		"use-unhealthy-when-empty":   "yes",
	})
	require.NoError(t, err)
	require.Equal(t, before, common, "the common values are not touched")
	want := before.Clone()
	want.Retry.StatusCodes = []int{503, 504}
	want.Retry.Exceptions = []string{"io"}
	want.Retry.Backoff = loadbalance.BackoffProperties{Min: 20 * time.Millisecond, Max: time.Second, Jitter: 0.25}
	want.Hint = map[string]string{"a": "1", "b": "2"}
	want.HealthCheck.Path = map[string]string{"default": "/x", "a.b": ""}
	want.HealthCheck.Interval, want.HealthCheck.FailOpen = 10*time.Second, false
	want.APIVersion.MediaTypeParameters = map[string]string{"application/vnd.x": "v"}
	want.Outlier.Enabled, want.WarmUp, want.Subset.Size = true, 1500*time.Millisecond, 7
	want.UseUnhealthyWhenEmpty = true
	require.Equal(t, want, merged)
}

// Every key can be set for a single service, but for those that are everybody's.
func TestOverride_EveryKeyButThoseOfAll(t *testing.T) {
	ofAll := map[string]bool{
		"enabled": true, "retry.enabled": true, "stats.enabled": true, "eager-load.clients": true, "http.balanced-hosts": true, "clients": true,
	}
	common := loadbalance.DefaultProperties()
	common.Retry.Enabled = false
	for _, k := range keyTests {
		value := fieldOf(reflect.ValueOf(common), k.key)
		var text any
		switch value.Interface().(type) {
		case bool:
			text = fmt.Sprint(!value.Bool())
		case time.Duration:
			text = "77s"
		case int, float64:
			text = "77"
		case string:
			text = "seventy-seven"
		case []int:
			text = "77,78"
		case []string:
			text = "a,b"
		default:
			text = map[string]any{"a": map[string]any{}}
			if k.key != "clients" {
				text = map[string]any{"a": "b"}
			}
		}
		merged, err := common.Override(map[string]any{k.key: text})
		if ofAll[k.key] {
			require.ErrorContains(t, err, k.key+": ")
			continue
		}
		require.NoError(t, err, k.key)
		require.NotEqual(t, value.Interface(), fieldOf(reflect.ValueOf(merged), k.key).Interface(), k.key)
	}
}

// fieldOf returns the field of a key.
func fieldOf(v reflect.Value, key string) reflect.Value {
	for _, part := range strings.Split(key, ".") {
		for n := range v.NumField() {
			if v.Type().Field(n).Tag.Get("mapstructure") == part {
				v = v.Field(n)
				break
			}
		}
	}
	return v
}

func TestValidate_NamesEveryProblemWithItsKey(t *testing.T) {
	for key, edit := range map[string]func(*loadbalance.Properties){
		"configurations":                         func(p *loadbalance.Properties) { p.Configurations = "x" },
		"chain":                                  func(p *loadbalance.Properties) { p.Chain = []string{"x"} },
		"algorithm":                              func(p *loadbalance.Properties) { p.Algorithm = "x" },
		"hash-key":                               func(p *loadbalance.Properties) { p.Algorithm = "consistent-hash" },
		"min-available":                          func(p *loadbalance.Properties) { p.MinAvailable = -1 },
		"ip-type":                                func(p *loadbalance.Properties) { p.IPType = "6" },
		"service-discovery.timeout":              func(p *loadbalance.Properties) { p.ServiceDiscovery.Timeout = -1 },
		"hint-header-name":                       func(p *loadbalance.Properties) { p.HintHeaderName = "" },
		"sticky-session.instance-id-cookie-name": func(p *loadbalance.Properties) { p.StickySession.InstanceIDCookieName = "a b" },
		"health-check.initial-delay":             func(p *loadbalance.Properties) { p.HealthCheck.InitialDelay = -1 },
		"health-check.interval":                  func(p *loadbalance.Properties) { p.HealthCheck.Interval = 0 },
		"health-check.timeout":                   func(p *loadbalance.Properties) { p.HealthCheck.Timeout = 0 },
		"health-check.refetch-instances-interval":    func(p *loadbalance.Properties) { p.HealthCheck.RefetchInstancesInterval = 0 },
		"health-check.port":                          func(p *loadbalance.Properties) { p.HealthCheck.Port = 65536 },
		"health-check.unhealthy-threshold":           func(p *loadbalance.Properties) { p.HealthCheck.UnhealthyThreshold = 0 },
		"health-check.healthy-threshold":             func(p *loadbalance.Properties) { p.HealthCheck.HealthyThreshold = 0 },
		"health-check.path.a":                        func(p *loadbalance.Properties) { p.HealthCheck.Path = map[string]string{"a": "x"} },
		"retry.max-retries-on-same-service-instance": func(p *loadbalance.Properties) { p.Retry.MaxSame = -1 },
		"retry.max-retries-on-next-service-instance": func(p *loadbalance.Properties) { p.Retry.MaxNext = -1 },
		"retry.retryable-status-codes":               func(p *loadbalance.Properties) { p.Retry.StatusCodes = []int{9} },
		"retry.retryable-exceptions":                 func(p *loadbalance.Properties) { p.Retry.Exceptions = []string{"x"} },
		"retry.backoff.min-backoff":                  func(p *loadbalance.Properties) { p.Retry.Backoff.Min = 0 },
		"retry.backoff.max-backoff":                  func(p *loadbalance.Properties) { p.Retry.Backoff.Max = 1 },
		"retry.backoff.jitter":                       func(p *loadbalance.Properties) { p.Retry.Backoff.Jitter = 2 },
		"retry.budget-percent":                       func(p *loadbalance.Properties) { p.Retry.BudgetPercent = -1 },
		"subset.size":                                func(p *loadbalance.Properties) { p.Subset.Size = 0 },
		"api-version.required":                       func(p *loadbalance.Properties) { p.APIVersion.Required = true },
		"api-version.default":                        func(p *loadbalance.Properties) { p.APIVersion.Default = "x" },
		"api-version.path-segment":                   func(p *loadbalance.Properties) { p.APIVersion.PathSegment = -2 },
		"outlier.connection-failure-count-threshold": func(p *loadbalance.Properties) { p.Outlier.Threshold = 0 },
		"outlier.circuit-trip-timeout-factor":        func(p *loadbalance.Properties) { p.Outlier.Factor = 0 },
		"outlier.circuit-trip-max-timeout":           func(p *loadbalance.Properties) { p.Outlier.MaxTimeout = 1 },
		"outlier.active-connections-limit":           func(p *loadbalance.Properties) { p.Outlier.ActiveLimit = 0 },
		"outlier.max-ejected-percent":                func(p *loadbalance.Properties) { p.Outlier.MaxEjectedPercent = 101 },
		"warm-up":                                    func(p *loadbalance.Properties) { p.WarmUp = -1 },
		"http.connect-timeout":                       func(p *loadbalance.Properties) { p.HTTP.ConnectTimeout = 0 },
		"http.response-timeout":                      func(p *loadbalance.Properties) { p.HTTP.ResponseTimeout = -1 },
		"http.max-idle-conns-per-host":               func(p *loadbalance.Properties) { p.HTTP.MaxIdleConnsPerHost = 0 },
		"api-version.header":                         func(p *loadbalance.Properties) { p.APIVersion.Header = "a b" },
		"http.max-conns-per-host":                    func(p *loadbalance.Properties) { p.HTTP.MaxConnsPerHost = -1 },
		"clients.a.enabled":                          override("enabled", false),
		"clients.a.stats.enabled":                    override("stats.enabled", "true"),
		"clients.a.eager-load.clients":               override("eager-load.clients", "x"),
		"clients.a.http.balanced-hosts":              override("http.balanced-hosts", "x"),
		"clients.a.clients":                          override("clients", map[string]any{"b": map[string]any{}}),
		"clients.a.warm-up":                          override("warm-up", "soon"),
		"clients.a.subset.size":                      override("subset.size", "many"),
		"clients.a.preserve-host":                    override("preserve-host", "maybe"),
		"clients.a.outlier.max-ejected-percent":      override("outlier.max-ejected-percent", 101),
		"clients.a.retry.backoff.jitter":             override("retry", map[string]any{"backoff": map[string]any{"jitter": "much"}}),
		"clients.a.retry.retryable-status-codes[1]":  override("retry.retryable-status-codes", "500,x"),
		"clients.a.retry":                            override("retry", "often"),
		"clients.a.retry.no-such":                    override("retry.no-such", 1),
		"clients.a.retry.enabled": func(p *loadbalance.Properties) {
			p.Retry.Enabled = false
			override("retry.enabled", true)(p)
		},
	} {
		t.Run(key, func(t *testing.T) {
			p := loadbalance.DefaultProperties()
			edit(&p)
			err := p.Validate()
			require.Error(t, err)
			lines := strings.Split(err.Error(), "\n")
			require.Len(t, lines, 1)
			require.True(t, strings.HasPrefix(lines[0], key+": "), lines[0])
		})
	}
}

// A name that no header can have would never be found.
func TestValidate_NamesOfHeadersAndCookies(t *testing.T) {
	for _, name := range []string{" ", "a b", "a:b", "ä", "a\nb"} {
		p := loadbalance.DefaultProperties()
		p.HintHeaderName = name
		require.EqualError(t, p.Validate(), "hint-header-name: must be a header's name", name)
		for _, key := range []string{"header:" + name, "cookie:" + name} {
			_, err := loadbalance.ParseHashKey(key)
			require.Error(t, err, key)
		}
	}
}

func override(key string, value any) func(*loadbalance.Properties) {
	return func(p *loadbalance.Properties) { p.Clients = map[string]map[string]any{"a": {key: value}} }
}
