package autoconfig

import (
	"context"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
)

// The indicators of this package, with Spring's names where it has them.
const (
	indicatorDiscovery = "discoveryClient"
	indicatorNacos     = "nacosDiscovery"
)

// provideIndicator adds the indicator that a constructor returns to the group.
func provideIndicator(constructor any) fx.Option {
	return fx.Provide(fx.Annotate(constructor, fx.ResultTags(`group:"health.indicators"`)))
}

// discoveryIndicator is UP with the names of the services, from the start of
// discovery on (B-R7), and DOWN while they cannot be had.
func discoveryIndicator(c *discovery.Client) HealthIndicator {
	return HealthIndicator{Name: indicatorDiscovery, Check: func(ctx context.Context) Health {
		names, err := c.Services(ctx)
		if err != nil {
			return Health{Status: HealthDown}
		}
		return Health{Status: HealthUp, Details: map[string]any{"services": append([]string{}, names...)}}
	}}
}

// statusAsker is what [nacosIndicator] needs of the client of a Nacos server.
type statusAsker interface {
	ServerStatus(ctx context.Context) (string, error)
}

// nacosIndicator says what the registry says of itself. Without being told to,
// it has no say in readiness (B-R8).
func nacosIndicator(c statusAsker, readiness bool) HealthIndicator {
	return HealthIndicator{Name: indicatorNacos, Readiness: readiness, Check: func(ctx context.Context) Health {
		status, err := c.ServerStatus(ctx)
		switch {
		case err != nil, status == string(HealthDown):
			return Health{Status: HealthDown}
		case status == string(HealthUp):
			return Health{Status: HealthUp}
		}
		return Health{Status: HealthUnknown}
	}}
}
