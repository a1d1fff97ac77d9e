package autoconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// HealthStatus is Spring's vocabulary of health.
type HealthStatus string

// The health statuses, worst first.
const (
	HealthDown         HealthStatus = "DOWN"
	HealthOutOfService HealthStatus = "OUT_OF_SERVICE"
	HealthUp           HealthStatus = "UP"
	HealthUnknown      HealthStatus = "UNKNOWN"
)

var healthSeverity = []HealthStatus{HealthDown, HealthOutOfService, HealthUp, HealthUnknown}

// Health is what an indicator found.
type Health struct {
	// Status is the verdict.
	Status HealthStatus `json:"status"`
	// Details are shown beside it and must hold no secrets; nil shows none.
	Details map[string]any `json:"details,omitempty"`
	// Components are what the verdict is made of, where it is of several.
	Components map[string]Health `json:"components,omitempty"`
}

// HealthIndicator is one component of the health answer. Indicators are provided
// in the value group "health.indicators".
type HealthIndicator struct {
	// Name of the component in the answer.
	Name string
	// Readiness takes readiness away while the indicator is DOWN or
	// OUT_OF_SERVICE.
	Readiness bool
	// Check is called for each request, concurrently with the other indicators. It
	// honours the context, which ends after three seconds. A panic is DOWN.
	Check func(ctx context.Context) Health

	composite string // the component that this one is shown in, "" for none
}

// healthCheckTimeout bounds all checks of one answer, so that a probe hears
// something before it gives up.
const healthCheckTimeout = 3 * time.Second

// healthReport is the answer of the health endpoints.
type healthReport struct {
	Status     HealthStatus      `json:"status"`
	Components map[string]Health `json:"components,omitempty"`
}

// healthEndpoint answers what the actuator's health routes are asked.
type healthEndpoint struct {
	registrar  *registrar
	indicators []HealthIndicator // sorted by name
}

func newHealthEndpoint(r *registrar, indicators []HealthIndicator) (*healthEndpoint, error) {
	sorted := slices.SortedFunc(slices.Values(indicators), func(a, b HealthIndicator) int { return strings.Compare(a.Name, b.Name) })
	for i, ind := range sorted {
		switch {
		case ind.Name == "" || ind.Check == nil:
			return nil, fmt.Errorf("health indicator %q needs a name and a check", ind.Name)
		case i > 0 && ind.Name == sorted[i-1].Name, slices.Contains(ownComponents, ind.Name), ind.Name == compositeDiscovery:
			return nil, fmt.Errorf("health indicator %q: the name is taken", ind.Name)
		}
	}
	return &healthEndpoint{registrar: r, indicators: sorted}, nil
}

// Components about the application itself; the first two have Spring's names.
const (
	componentLiveness     = "livenessState"
	componentReadiness    = "readinessState"
	componentRegistration = "registration"
)

var ownComponents = []string{componentLiveness, componentReadiness, componentRegistration}

// all is the whole health: every indicator, and whether the application is alive
// and ready.
func (h *healthEndpoint) all(ctx context.Context) healthReport {
	components := check(ctx, h.indicators)
	components[componentLiveness] = Health{Status: HealthUp}
	components[componentReadiness] = h.state()
	if registration, ok := h.registrar.health(); ok {
		components[componentRegistration] = registration
	}
	return aggregate(components)
}

// liveness says that the process serves. Nothing outside of it has a say (B-R8).
func (h *healthEndpoint) liveness() healthReport {
	return aggregate(map[string]Health{componentLiveness: {Status: HealthUp}})
}

// readiness says whether requests should be sent here.
func (h *healthEndpoint) readiness(ctx context.Context) healthReport {
	var asked []HealthIndicator
	for _, ind := range h.indicators {
		if ind.Readiness {
			asked = append(asked, ind)
		}
	}
	components := check(ctx, asked)
	components[componentReadiness] = h.state()
	return aggregate(components)
}

func (h *healthEndpoint) state() Health {
	if h.registrar.ready.Load() {
		return Health{Status: HealthUp}
	}
	return Health{Status: HealthOutOfService}
}

// check asks all indicators at once and waits for all of them.
func check(ctx context.Context, indicators []HealthIndicator) map[string]Health {
	ctx, cancel := context.WithTimeout(ctx, healthCheckTimeout)
	defer cancel()
	found := make([]Health, len(indicators))
	var wg sync.WaitGroup
	for i, ind := range indicators {
		wg.Go(func() { found[i] = ind.guarded(ctx) })
	}
	wg.Wait()
	components := make(map[string]Health, len(indicators)+len(ownComponents))
	parts := map[string]map[string]Health{}
	for i, ind := range indicators {
		if ind.composite == "" {
			components[ind.Name] = found[i]
			continue
		}
		if parts[ind.composite] == nil {
			parts[ind.composite] = map[string]Health{}
		}
		parts[ind.composite][ind.Name] = found[i]
	}
	for name, part := range parts {
		components[name] = Health{Status: aggregate(part).Status, Components: part}
	}
	return components
}

func (ind HealthIndicator) guarded(ctx context.Context) (h Health) {
	defer func() {
		if r := recover(); r != nil {
			h = Health{Status: HealthDown, Details: map[string]any{"error": fmt.Sprintf("check panicked: %v", r)}}
		}
	}()
	h = ind.Check(ctx)
	if !slices.Contains(healthSeverity, h.Status) {
		return Health{Status: HealthUnknown, Details: h.Details}
	}
	return h
}

// aggregate builds the answer: the worst component is the status of the whole.
func aggregate(components map[string]Health) healthReport {
	worst := len(healthSeverity) - 1
	for _, c := range components {
		worst = min(worst, slices.Index(healthSeverity, c.Status))
	}
	return healthReport{Status: healthSeverity[worst], Components: components}
}
