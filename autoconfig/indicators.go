package autoconfig

import (
	"context"
	"strings"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
)

// The indicators of this package, with Spring's names where it has them.
const (
	indicatorDiscovery = "discoveryClient"
	indicatorNacos     = "nacosDiscovery"
	compositeDiscovery = "discoveryComposite"
)

// provideIndicator adds the indicator that a constructor returns to the group.
func provideIndicator(constructor any) fx.Option {
	return fx.Provide(fx.Annotate(constructor, fx.ResultTags(`group:"health.indicators"`)))
}

// discoveryIndicator is UP with the names of the services, from the start of
// discovery on (B-R7), and DOWN while they cannot be had.
func (s *settings) discoveryIndicator(c *discovery.Client) HealthIndicator {
	p := &s.discovery.Client
	check := func(ctx context.Context, details map[string]any) HealthStatus {
		names, err := c.Services(ctx)
		if err != nil {
			return HealthDown
		}
		details["services"] = append([]string{}, names...)
		return HealthUp
	}
	if !p.HealthIndicator.UseServicesQuery {
		check = func(context.Context, map[string]any) HealthStatus {
			for _, service := range c.State().Services {
				if service.Snapshot != nil && service.Snapshot.Stale() && !service.Snapshot.Protected() {
					return HealthDown
				}
			}
			return HealthUp
		}
	}
	composite := ""
	if p.CompositeIndicator.Enabled {
		composite = compositeDiscovery
	}
	return HealthIndicator{Name: indicatorDiscovery, composite: composite, Check: func(ctx context.Context) Health {
		details := map[string]any{}
		if p.HealthIndicator.IncludeDescription {
			details["description"] = "services of " + strings.Join(p.Order, ", ")
		}
		h := Health{Status: check(ctx, details)}
		if len(details) > 0 {
			h.Details = details
		}
		return h
	}}
}

// statusAsker is what [nacosIndicator] needs of the client of a Nacos server.
type statusAsker interface {
	ServerStatus(ctx context.Context) (string, error)
	// LoginError is why the last login failed.
	LoginError() error
}

// nacosIndicator says what the registry says of itself. Without being told to,
// it has no say in readiness (B-R8).
func nacosIndicator(c statusAsker, readiness bool) HealthIndicator {
	return HealthIndicator{Name: indicatorNacos, Readiness: readiness, Check: func(ctx context.Context) Health {
		h := Health{Status: HealthUnknown}
		status, err := c.ServerStatus(ctx)
		switch {
		case err != nil, status == string(HealthDown):
			h.Status = HealthDown
		case status == string(HealthUp):
			h.Status = HealthUp
		}
		if c.LoginError() != nil { // C-R10; the error itself is in the log
			h.Details = map[string]any{"login": "failed"}
		}
		return h
	}}
}
