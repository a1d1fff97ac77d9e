package loadbalance_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/loadbalance"
)

func TestProperties_DefaultsAreValid(t *testing.T) {
	require.NoError(t, loadbalance.DefaultProperties().Validate())
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

func TestProperties_EveryKeyOfTheBlock(t *testing.T) {
	want := strings.Fields(`enabled nacos.enabled configurations chain algorithm hash-key zone prefer-same-cluster
		min-available ip-type service-discovery.timeout hint hint-header-name
		sticky-session.instance-id-cookie-name sticky-session.add-service-instance-cookie
		health-check.initial-delay health-check.interval health-check.timeout health-check.path health-check.port
		health-check.refetch-instances health-check.refetch-instances-interval health-check.repeat-health-check
		health-check.update-results-list health-check.unhealthy-threshold health-check.healthy-threshold health-check.fail-open
		retry.enabled retry.retry-on-all-operations retry.retry-on-all-exceptions
		retry.max-retries-on-same-service-instance retry.max-retries-on-next-service-instance
		retry.retryable-status-codes retry.retryable-exceptions retry.retry-on-connect-error retry.avoid-previous-instance
		retry.backoff.enabled retry.backoff.min-backoff retry.backoff.max-backoff retry.backoff.jitter retry.budget-percent
		subset.instance-id subset.size
		api-version.required api-version.default api-version.header api-version.query-parameter api-version.path-segment
		api-version.media-type-parameters api-version.fallback-to-available-instances
		x-forwarded.enabled preserve-host
		outlier.enabled outlier.connection-failure-count-threshold outlier.circuit-trip-timeout-factor
		outlier.circuit-trip-max-timeout outlier.active-connections-limit outlier.max-ejected-percent
		warm-up use-unhealthy-when-empty stats.enabled stats.include-path eager-load.clients
		http.connect-timeout http.response-timeout http.max-idle-conns-per-host http.max-conns-per-host http.balanced-hosts clients`)
	require.Equal(t, want, allKeys("", reflect.TypeFor[loadbalance.Properties]()))
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

func TestValidate_NamesEveryProblemWithItsKey(t *testing.T) {
	for key, edit := range map[string]func(*loadbalance.Properties){
		"configurations":                             func(p *loadbalance.Properties) { p.Configurations = "x" },
		"chain":                                      func(p *loadbalance.Properties) { p.Chain = []string{"x"} },
		"algorithm":                                  func(p *loadbalance.Properties) { p.Algorithm = "x" },
		"hash-key":                                   func(p *loadbalance.Properties) { p.Algorithm = "consistent-hash" },
		"min-available":                              func(p *loadbalance.Properties) { p.MinAvailable = -1 },
		"service-discovery.timeout":                  func(p *loadbalance.Properties) { p.ServiceDiscovery.Timeout = -1 },
		"hint-header-name":                           func(p *loadbalance.Properties) { p.HintHeaderName = "" },
		"sticky-session.instance-id-cookie-name":     func(p *loadbalance.Properties) { p.StickySession.InstanceIDCookieName = "a b" },
		"health-check.initial-delay":                 func(p *loadbalance.Properties) { p.HealthCheck.InitialDelay = -1 },
		"health-check.interval":                      func(p *loadbalance.Properties) { p.HealthCheck.Interval = 0 },
		"health-check.timeout":                       func(p *loadbalance.Properties) { p.HealthCheck.Timeout = 0 },
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

func override(key string, value any) func(*loadbalance.Properties) {
	return func(p *loadbalance.Properties) { p.Clients = map[string]map[string]any{"a": {key: value}} }
}
