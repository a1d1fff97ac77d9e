package loadbalance

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// PropertiesPrefix is where [Properties] stand in a configuration.
const PropertiesPrefix = "cloud.loadbalancer"

// Validate reports every value that cannot work, one a line, each with its key
// below [PropertiesPrefix]; overrides of single services with "clients.<id>." in
// front.
func (p Properties) Validate() error {
	errs := []error{p.validate()}
	for _, id := range sortedKeys(p.Clients) {
		merged, err := p.override(p.Clients[id])
		rest := otherKeys(newProblems(merged.validate(), errs[0]), err)
		errs = append(errs, keyed("clients."+id, errors.Join(err, rest)))
	}
	return errors.Join(errs...)
}

// ValidateWith is [Properties.Validate] where chains may also name these stages,
// as [Options].Stages.
func (p Properties) ValidateWith(custom ...Stage) error {
	if len(custom) == 0 {
		return p.Validate()
	}
	plain := p.Clone()
	plain.Chain = nil
	for _, values := range plain.Clients {
		for key := range values {
			if uniformName(key) == "chain" {
				delete(values, key)
			}
		}
	}
	errs := []error{plain.Validate()}
	if _, err := chainNames(p, custom...); err != nil {
		errs = append(errs, fmt.Errorf("chain: %w", err))
	}
	for _, id := range sortedKeys(p.Clients) {
		merged, _ := p.override(p.Clients[id]) // whose mistakes were told above
		if _, err := chainNames(merged, custom...); err != nil {
			errs = append(errs, keyed("clients."+id, fmt.Errorf("chain: %w", err)))
		}
	}
	return errors.Join(errs...)
}

// newProblems leaves out what is wrong for all services anyway.
func newProblems(err, common error) error {
	if err == nil || common == nil {
		return err
	}
	known := strings.Split(common.Error(), "\n")
	var errs []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !slices.Contains(known, line) {
			errs = append(errs, errors.New(line))
		}
	}
	return errors.Join(errs...)
}

// otherKeys leaves out what is about a key that could not be read: what stands in
// its place is nobody's mistake.
func otherKeys(err, unread error) error {
	if err == nil || unread == nil {
		return err
	}
	keyOf := func(line string) string {
		key, _, _ := strings.Cut(line, ": ")
		key, _, _ = strings.Cut(key, "[") // an element of a list
		return key
	}
	told := map[string]bool{}
	for line := range strings.SplitSeq(unread.Error(), "\n") {
		told[keyOf(line)] = true
	}
	var errs []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !told[keyOf(line)] {
			errs = append(errs, errors.New(line))
		}
	}
	return errors.Join(errs...)
}

func (p Properties) validate() error {
	var c check
	_, err := chainNames(p)
	c.add("chain", err)
	_, known := presets[p.Configurations]
	c.that(known, "configurations", "must be one of %s", strings.Join(Presets(), ", "))
	c.that(p.Algorithm == "" || slices.Contains(policyNames, p.Algorithm), "algorithm", "must be one of %s", strings.Join(policyNames, ", "))
	switch {
	case p.HashKey != "":
		_, err := ParseHashKey(p.HashKey)
		c.add("hash-key", err)
	case p.Algorithm == PolicyConsistentHash:
		c.that(false, "hash-key", "must be set for algorithm %s", PolicyConsistentHash)
	}
	_, known = parseIPType(p.IPType)
	c.that(known, "ip-type", "must be %s, %s or empty", IPTypeV4, IPTypeV6)
	c.that(p.MinAvailable >= 0, "min-available", "must not be negative")
	c.notNegative("service-discovery.timeout", p.ServiceDiscovery.Timeout)
	c.that(isToken(p.HintHeaderName), "hint-header-name", "must be a header's name")
	c.that(isToken(p.StickySession.InstanceIDCookieName), "sticky-session.instance-id-cookie-name", "must be a cookie's name")
	p.HealthCheck.validate(&c)
	p.Retry.validate(&c)
	c.that(p.Subset.Size > 0, "subset.size", "must be 1 or more")
	p.APIVersion.validate(&c)
	p.Outlier.validate(&c)
	c.notNegative("warm-up", p.WarmUp)
	c.positive("http.connect-timeout", p.HTTP.ConnectTimeout)
	c.notNegative("http.response-timeout", p.HTTP.ResponseTimeout)
	c.that(p.HTTP.MaxIdleConnsPerHost > 0, "http.max-idle-conns-per-host", "must be 1 or more")
	c.that(p.HTTP.MaxConnsPerHost >= 0, "http.max-conns-per-host", "must not be negative")
	return errors.Join(c.errs...)
}

func (h HealthCheckProperties) validate(c *check) {
	c.notNegative("health-check.initial-delay", h.InitialDelay)
	c.positive("health-check.interval", h.Interval)
	c.positive("health-check.timeout", h.Timeout)
	c.positive("health-check.refetch-instances-interval", h.RefetchInstancesInterval)
	c.that(h.Port >= 0 && h.Port <= 65535, "health-check.port", "must be 0 to 65535")
	c.that(h.UnhealthyThreshold > 0, "health-check.unhealthy-threshold", "must be 1 or more")
	c.that(h.HealthyThreshold > 0, "health-check.healthy-threshold", "must be 1 or more")
	for _, id := range sortedKeys(h.Path) {
		path := h.Path[id]
		c.that(path == "" || strings.HasPrefix(path, "/"), "health-check.path."+id, "must begin with a slash")
	}
}

func (r RetryProperties) validate(c *check) {
	c.that(r.MaxSame >= 0, "retry.max-retries-on-same-service-instance", "must not be negative")
	c.that(r.MaxNext >= 0, "retry.max-retries-on-next-service-instance", "must not be negative")
	for _, code := range r.StatusCodes {
		c.that(code >= 100 && code <= 599, "retry.retryable-status-codes", "%d is no status code", code)
	}
	for _, kind := range r.Exceptions {
		c.that(kind == ExceptionIO || kind == ExceptionTimeout, "retry.retryable-exceptions", "%q is none of %s, %s", kind, ExceptionIO, ExceptionTimeout)
	}
	c.positive("retry.backoff.min-backoff", r.Backoff.Min)
	c.that(r.Backoff.Max == 0 || r.Backoff.Max >= r.Backoff.Min, "retry.backoff.max-backoff", "must be 0s or at least min-backoff")
	c.that(r.Backoff.Jitter >= 0 && r.Backoff.Jitter <= 1, "retry.backoff.jitter", "must be 0 to 1")
	c.that(r.BudgetPercent >= 0, "retry.budget-percent", "must not be negative")
}

func (v APIVersionProperties) validate(c *check) {
	c.that(v.Header == "" || isToken(v.Header), "api-version.header", "must be a header's name")
	c.that(v.PathSegment >= -1, "api-version.path-segment", "must be -1 or more")
	if v.Default != "" {
		_, ok := parseVersion(v.Default)
		c.that(ok, "api-version.default", "must be a version such as 1 or 1.2.3")
		c.that(!v.Required, "api-version.default", "cannot be used when a version is required")
	}
	if v.Required {
		c.that(v.Header != "" || v.QueryParameter != "" || v.PathSegment >= 0 || len(v.MediaTypeParameters) > 0,
			"api-version.required", "needs a place to find the version in")
	}
}

func (o OutlierProperties) validate(c *check) {
	c.that(o.Threshold > 0, "outlier.connection-failure-count-threshold", "must be 1 or more")
	c.positive("outlier.circuit-trip-timeout-factor", o.Factor)
	c.that(o.MaxTimeout >= o.Factor, "outlier.circuit-trip-max-timeout", "must be at least circuit-trip-timeout-factor")
	c.that(o.ActiveLimit == -1 || o.ActiveLimit > 0, "outlier.active-connections-limit", "must be -1 or above 0")
	c.that(o.MaxEjectedPercent >= 0 && o.MaxEjectedPercent <= 100, "outlier.max-ejected-percent", "must be 0 to 100")
}

// check gathers problems.
type check struct{ errs []error }

func (c *check) that(holds bool, key, format string, args ...any) {
	if !holds {
		c.errs = append(c.errs, errors.New(key+": "+fmt.Sprintf(format, args...)))
	}
}

func (c *check) add(key string, err error) {
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("%s: %w", key, err))
	}
}

func (c *check) positive(key string, d time.Duration) {
	c.that(d > 0, key, "must be above 0s")
}

func (c *check) notNegative(key string, d time.Duration) {
	c.that(d >= 0, key, "must not be negative")
}

// isToken reports whether a text can be the name of a cookie or of a header, which
// are made of the same characters (RFC 9110, 5.6.2).
func isToken(name string) bool {
	cookie := http.Cookie{Name: name, Value: "x"}
	return cookie.Valid() == nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
