package loadbalance

import (
	"maps"
	"slices"
	"time"
)

// Properties is the block cloud.loadbalancer: everything about calling by name
// that a configuration says. [DefaultProperties] holds the defaults, which the
// fields' comments name; a zero Properties is not one.
type Properties struct {
	// Enabled provides the balancer and the client that calls by name, true. It is
	// for whoever assembles an application; a balancer does not look at it.
	Enabled bool `mapstructure:"enabled"`
	// Nacos makes weighted-random the algorithm where none is named and lets calls
	// prefer the caller's own cluster.
	Nacos NacosProperties `mapstructure:"nacos"`
	// Configurations names the preset of stages: one of the eight [Presets],
	// "default" by default.
	Configurations string `mapstructure:"configurations"`
	// Chain names the stages one by one, in order, instead of a preset; see
	// [StageNames]. Empty by default.
	Chain []string `mapstructure:"chain"`
	// Algorithm is one of the policies' names; "" by default, which is
	// weighted-random with nacos.enabled and else round-robin.
	Algorithm string `mapstructure:"algorithm"`
	// HashKey says by what consistent-hash hashes: header:NAME, cookie:NAME,
	// query:NAME or ip; "" by default.
	HashKey string `mapstructure:"hash-key"`
	// Zone is the caller's own; "" by default, which is its registration's.
	Zone string `mapstructure:"zone"`
	// PreferSameCluster calls the caller's own cluster while it has an instance for
	// the call, true. It needs nacos.enabled and a chain that is not explicit.
	PreferSameCluster bool `mapstructure:"prefer-same-cluster"`
	// MinAvailable is how many instances a zone needs to be preferred, 2.
	MinAvailable int `mapstructure:"min-available"`
	// IPType calls instances by addresses of one kind while there are any: IPv4, or
	// IPv6, for which the address in an instance's metadata under IPv6 takes the place
	// of its own. "" by default, which is the caller's cloud.nacos.discovery.ip-type,
	// and where that is "", too, the address that each instance is registered with.
	IPType string `mapstructure:"ip-type"`
	// ServiceDiscovery bounds the wait for a service's first list.
	ServiceDiscovery ServiceDiscoveryProperties `mapstructure:"service-discovery"`
	// Hint holds the hint of calls by service id, and under "default" that of all
	// others; empty by default. When it is not, the stage hint takes part.
	Hint map[string]string `mapstructure:"hint"`
	// HintHeaderName is the request header that goes before Hint, X-SC-LB-Hint.
	HintHeaderName string `mapstructure:"hint-header-name"`
	// StickySession is about the stage request-based-sticky-session.
	StickySession StickySessionProperties `mapstructure:"sticky-session"`
	// HealthCheck is about the stage health-check.
	HealthCheck HealthCheckProperties `mapstructure:"health-check"`
	// Retry is about calls that failed.
	Retry RetryProperties `mapstructure:"retry"`
	// Subset is about the stage subset.
	Subset SubsetProperties `mapstructure:"subset"`
	// APIVersion is about the stage api-version.
	APIVersion APIVersionProperties `mapstructure:"api-version"`
	// XForwarded adds X-Forwarded-Host and X-Forwarded-Proto to requests.
	XForwarded XForwardedProperties `mapstructure:"x-forwarded"`
	// PreserveHost sends the service's name as Host header, false: the instance's
	// address.
	PreserveHost bool `mapstructure:"preserve-host"`
	// Outlier keeps calls away from instances that cannot be reached.
	Outlier OutlierProperties `mapstructure:"outlier"`
	// WarmUp is how long the traffic of an instance that joined grows to its full
	// share, 0s: at once. Instances of the first list count as warm.
	WarmUp time.Duration `mapstructure:"warm-up"`
	// UseUnhealthyWhenEmpty calls unhealthy instances when there are no others,
	// false.
	UseUnhealthyWhenEmpty bool `mapstructure:"use-unhealthy-when-empty"`
	// Stats measures calls.
	Stats StatsProperties `mapstructure:"stats"`
	// EagerLoad prepares services before their first call.
	EagerLoad EagerLoadProperties `mapstructure:"eager-load"`
	// HTTP is about the connections to instances.
	HTTP HTTPProperties `mapstructure:"http"`
	// Clients holds other values for single services: service id, in any case, to
	// any key above, merged over the common values. Not to be overridden are
	// enabled, stats.enabled, eager-load, http.balanced-hosts and clients, and
	// retry.enabled can only be switched off. Empty by default.
	Clients map[string]map[string]any `mapstructure:"clients"`
}

// NacosProperties is the block cloud.loadbalancer.nacos.
type NacosProperties struct {
	// Enabled is true.
	Enabled bool `mapstructure:"enabled"`
}

// ServiceDiscoveryProperties is the block cloud.loadbalancer.service-discovery.
type ServiceDiscoveryProperties struct {
	// Timeout bounds the wait for a service's first list, 30s; discovery's own
	// limit counts when it is shorter. 0 means no limit.
	Timeout time.Duration `mapstructure:"timeout"`
}

// StickySessionProperties is the block cloud.loadbalancer.sticky-session.
type StickySessionProperties struct {
	// InstanceIDCookieName is the cookie that names the instance,
	// sc-lb-instance-id.
	InstanceIDCookieName string `mapstructure:"instance-id-cookie-name"`
	// AddServiceInstanceCookie adds that cookie to outgoing requests, false.
	AddServiceInstanceCookie bool `mapstructure:"add-service-instance-cookie"`
}

// HealthCheckProperties is the block cloud.loadbalancer.health-check.
type HealthCheckProperties struct {
	// InitialDelay is the time before the first probes, 0s.
	InitialDelay time.Duration `mapstructure:"initial-delay"`
	// Interval is the time between two rounds of probes, 25s, give or take a tenth.
	Interval time.Duration `mapstructure:"interval"`
	// Timeout bounds a probe, 2s; so does Interval.
	Timeout time.Duration `mapstructure:"timeout"`
	// Path holds the path to get by service id, and under "default" that of all
	// others; without either it is /actuator/health. A service with "" is not
	// probed.
	Path map[string]string `mapstructure:"path"`
	// Port is probed instead of the instance's, 0: the instance's.
	Port int `mapstructure:"port"`
	// RefetchInstances reads the list again while nobody calls the service, false:
	// the probes follow the list as calls see it.
	RefetchInstances bool `mapstructure:"refetch-instances"`
	// RefetchInstancesInterval is how often, 25s.
	RefetchInstancesInterval time.Duration `mapstructure:"refetch-instances-interval"`
	// RepeatHealthCheck probes an instance again and again, true; else once when it
	// joins.
	RepeatHealthCheck bool `mapstructure:"repeat-health-check"`
	// UpdateResultsList applies each result at once, false: all of a round together.
	UpdateResultsList bool `mapstructure:"update-results-list"`
	// UnhealthyThreshold is how many probes in a row must fail, 2.
	UnhealthyThreshold int `mapstructure:"unhealthy-threshold"`
	// HealthyThreshold is how many in a row must succeed afterwards, 1.
	HealthyThreshold int `mapstructure:"healthy-threshold"`
	// FailOpen uses all instances when none is alive, true; else there is none.
	FailOpen bool `mapstructure:"fail-open"`
}

// RetryProperties is the block cloud.loadbalancer.retry.
type RetryProperties struct {
	// Enabled tries again, true.
	Enabled bool `mapstructure:"enabled"`
	// OnAllOperations tries again whatever the method, false: idempotent ones.
	OnAllOperations bool `mapstructure:"retry-on-all-operations"`
	// OnAllExceptions tries again whatever the error, false: Exceptions.
	OnAllExceptions bool `mapstructure:"retry-on-all-exceptions"`
	// MaxSame is how often the same instance is tried again, 0.
	MaxSame int `mapstructure:"max-retries-on-same-service-instance"`
	// MaxNext is how many further instances a call goes to, 1.
	MaxNext int `mapstructure:"max-retries-on-next-service-instance"`
	// StatusCodes of responses that count as failed, none.
	StatusCodes []int `mapstructure:"retryable-status-codes"`
	// Exceptions are the kinds of error that are tried again, io and timeout.
	Exceptions []string `mapstructure:"retryable-exceptions"`
	// OnConnectError tries again whatever the method when no connection could be
	// made, true: nothing was sent.
	OnConnectError bool `mapstructure:"retry-on-connect-error"`
	// AvoidPreviousInstance keeps further attempts away from the instances of
	// earlier ones, true.
	AvoidPreviousInstance bool `mapstructure:"avoid-previous-instance"`
	// Backoff is the pause before another attempt.
	Backoff BackoffProperties `mapstructure:"backoff"`
	// BudgetPercent bounds retries to a share of the calls, 20; 0 means no bound.
	// Attempts that could not be connected do not count.
	BudgetPercent int `mapstructure:"budget-percent"`
}

// BackoffProperties is the block cloud.loadbalancer.retry.backoff.
type BackoffProperties struct {
	// Enabled pauses, false.
	Enabled bool `mapstructure:"enabled"`
	// Min is the first pause, 5ms; each further one is twice as long.
	Min time.Duration `mapstructure:"min-backoff"`
	// Max bounds a pause, 0s: no bound.
	Max time.Duration `mapstructure:"max-backoff"`
	// Jitter is the share by which a pause is randomly longer or shorter, 0.5.
	Jitter float64 `mapstructure:"jitter"`
}

// SubsetProperties is the block cloud.loadbalancer.subset.
type SubsetProperties struct {
	// InstanceID stands for the caller when its subset is drawn; "" by default,
	// which is its registration's.
	InstanceID string `mapstructure:"instance-id"`
	// Size is how many instances the caller uses, 100.
	Size int `mapstructure:"size"`
}

// APIVersionProperties is the block cloud.loadbalancer.api-version. The version
// is looked for in this order: header, query parameter, path segment, media type
// parameter.
type APIVersionProperties struct {
	// Required refuses calls without a version, false.
	Required bool `mapstructure:"required"`
	// Default is the version of calls without one, "".
	Default string `mapstructure:"default"`
	// Header is the request header that holds it, "".
	Header string `mapstructure:"header"`
	// QueryParameter is the query parameter that holds it, "".
	QueryParameter string `mapstructure:"query-parameter"`
	// PathSegment is the segment of the path that holds it, counted from 0; -1:
	// none.
	PathSegment int `mapstructure:"path-segment"`
	// MediaTypeParameters holds, by media type, the parameter of the Accept or
	// Content-Type header that holds it; empty.
	MediaTypeParameters map[string]string `mapstructure:"media-type-parameters"`
	// FallbackToAvailableInstances uses all instances when none has the version,
	// false.
	FallbackToAvailableInstances bool `mapstructure:"fallback-to-available-instances"`
}

// XForwardedProperties is the block cloud.loadbalancer.x-forwarded.
type XForwardedProperties struct {
	// Enabled is false.
	Enabled bool `mapstructure:"enabled"`
}

// OutlierProperties is the block cloud.loadbalancer.outlier.
type OutlierProperties struct {
	// Enabled lets the stage outlier take part, false.
	Enabled bool `mapstructure:"enabled"`
	// Threshold is after how many connect errors and timeouts in a row an instance
	// is ejected, 3.
	Threshold int `mapstructure:"connection-failure-count-threshold"`
	// Factor is how long the first time, 10s; each further failure doubles it.
	Factor time.Duration `mapstructure:"circuit-trip-timeout-factor"`
	// MaxTimeout bounds an ejection, 30s.
	MaxTimeout time.Duration `mapstructure:"circuit-trip-max-timeout"`
	// ActiveLimit is how many calls an instance may have under way before others
	// are preferred, -1: any number.
	ActiveLimit int `mapstructure:"active-connections-limit"`
	// MaxEjectedPercent bounds the share of a service's usable instances that are
	// ejected, 50.
	MaxEjectedPercent int `mapstructure:"max-ejected-percent"`
}

// StatsProperties is the block cloud.loadbalancer.stats.
type StatsProperties struct {
	// Enabled publishes the metrics of calls, false.
	Enabled bool `mapstructure:"enabled"`
	// IncludePath puts the path of requests into the label uri, false: a service
	// whose paths hold ids would have a series for each.
	IncludePath bool `mapstructure:"include-path"`
}

// EagerLoadProperties is the block cloud.loadbalancer.eager-load.
type EagerLoadProperties struct {
	// Clients are the services, none.
	Clients []string `mapstructure:"clients"`
}

// HTTPProperties is the block cloud.loadbalancer.http.
type HTTPProperties struct {
	// ConnectTimeout bounds making a connection, 2s.
	ConnectTimeout time.Duration `mapstructure:"connect-timeout"`
	// ResponseTimeout bounds the wait for a response's header, 0s: no bound.
	ResponseTimeout time.Duration `mapstructure:"response-timeout"`
	// MaxIdleConnsPerHost are kept for reuse per instance, 50.
	MaxIdleConnsPerHost int `mapstructure:"max-idle-conns-per-host"`
	// MaxConnsPerHost bounds all connections per instance, 0: no bound.
	MaxConnsPerHost int `mapstructure:"max-conns-per-host"`
	// BalancedHosts are the only hosts of http and https URLs that name a service;
	// none by default, which is all that do not name a machine. lb URLs always do.
	BalancedHosts []string `mapstructure:"balanced-hosts"`
}

// Defaults of [Properties] that are shared with other options.
const (
	// DefaultBudgetPercent is how many retries a hundred calls may cause.
	DefaultBudgetPercent = 20
	// DefaultHintHeader is Spring's name for the header with the hint.
	DefaultHintHeader = "X-SC-LB-Hint"
	// DefaultStickyCookie is Spring's name for the cookie with the instance's id.
	DefaultStickyCookie = "sc-lb-instance-id"
	// DefaultHealthPath is what is probed where nothing else is said.
	DefaultHealthPath = "/actuator/health"
)

// DefaultProperties returns the defaults.
func DefaultProperties() Properties {
	return Properties{
		Enabled:           true,
		Nacos:             NacosProperties{Enabled: true},
		Configurations:    PresetDefault,
		PreferSameCluster: true,
		MinAvailable:      2,
		ServiceDiscovery:  ServiceDiscoveryProperties{Timeout: 30 * time.Second},
		HintHeaderName:    DefaultHintHeader,
		StickySession:     StickySessionProperties{InstanceIDCookieName: DefaultStickyCookie},
		HealthCheck: HealthCheckProperties{
			Interval: 25 * time.Second, Timeout: 2 * time.Second,
			RefetchInstancesInterval: 25 * time.Second, RepeatHealthCheck: true,
			UnhealthyThreshold: 2, HealthyThreshold: 1, FailOpen: true,
		},
		Retry: RetryProperties{
			Enabled: true, MaxNext: DefaultMaxNextInstances,
			Exceptions:     []string{ExceptionIO, ExceptionTimeout},
			OnConnectError: true, AvoidPreviousInstance: true,
			Backoff:       BackoffProperties{Min: 5 * time.Millisecond, Jitter: 0.5},
			BudgetPercent: DefaultBudgetPercent,
		},
		Subset:     SubsetProperties{Size: 100},
		APIVersion: APIVersionProperties{PathSegment: -1},
		Outlier: OutlierProperties{
			Threshold: 3, Factor: 10 * time.Second, MaxTimeout: 30 * time.Second,
			ActiveLimit: -1, MaxEjectedPercent: 50,
		},
		HTTP: HTTPProperties{
			ConnectTimeout:      DefaultConnectTimeout,
			MaxIdleConnsPerHost: DefaultMaxIdleConnsPerHost,
		},
	}
}

// Clone returns a copy that shares nothing with p.
func (p Properties) Clone() Properties {
	p.Chain = slices.Clone(p.Chain)
	p.Hint = maps.Clone(p.Hint)
	p.HealthCheck.Path = maps.Clone(p.HealthCheck.Path)
	p.Retry.StatusCodes = slices.Clone(p.Retry.StatusCodes)
	p.Retry.Exceptions = slices.Clone(p.Retry.Exceptions)
	p.APIVersion.MediaTypeParameters = maps.Clone(p.APIVersion.MediaTypeParameters)
	p.EagerLoad.Clients = slices.Clone(p.EagerLoad.Clients)
	p.HTTP.BalancedHosts = slices.Clone(p.HTTP.BalancedHosts)
	if p.Clients != nil {
		clients := make(map[string]map[string]any, len(p.Clients))
		for id, values := range p.Clients {
			clients[id] = cloneTree(values)
		}
		p.Clients = clients
	}
	return p
}

func cloneTree(tree map[string]any) map[string]any {
	copied := make(map[string]any, len(tree))
	for key, value := range tree {
		switch v := value.(type) {
		case map[string]any:
			value = cloneTree(v)
		case []any:
			value = slices.Clone(v)
		}
		copied[key] = value
	}
	return copied
}
