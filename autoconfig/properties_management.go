package autoconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Endpoints of the actuator that can be exposed.
const (
	endpointHealth     = "health"
	endpointPrometheus = "prometheus"
)

var endpoints = []string{endpointHealth, endpointPrometheus}

// ManagementProperties is the block management: the actuator.
type ManagementProperties struct {
	// Endpoints says where the actuator is and what it shows.
	Endpoints EndpointProperties `mapstructure:"endpoints"`
	// Health says what the health answer is made of.
	Health HealthProperties `mapstructure:"health"`
}

// EndpointProperties is the block management.endpoints.
type EndpointProperties struct {
	// BasePath of the actuator on the web server, /actuator.
	BasePath string `mapstructure:"base-path"`
	// Exposure lists what can be reached: health (default) and prometheus; "*" is
	// all of them, an empty list none.
	Exposure []string `mapstructure:"exposure"`
}

// HealthProperties is the block management.health.
type HealthProperties struct {
	// DiscoveryClient switches the indicator discoveryClient, on.
	DiscoveryClient Switch `mapstructure:"discovery-client"`
	// NacosDiscovery switches the indicator nacosDiscovery, on.
	NacosDiscovery Switch `mapstructure:"nacos-discovery"`
	// RegistryAffectsReadiness takes readiness away while the registry cannot be
	// reached, off (B-R8): an application usually serves well without it.
	RegistryAffectsReadiness bool `mapstructure:"registry-affects-readiness"`
}

// Switch is a block with the one key enabled.
type Switch struct {
	// Enabled switches the thing on.
	Enabled bool `mapstructure:"enabled"`
}

// DefaultManagementProperties returns the defaults of the block management.
func DefaultManagementProperties() ManagementProperties {
	return ManagementProperties{
		Endpoints: EndpointProperties{BasePath: "/actuator", Exposure: []string{endpointHealth}},
		Health:    HealthProperties{DiscoveryClient: Switch{true}, NacosDiscovery: Switch{true}},
	}
}

// Validate reports every value that cannot work.
func (p *ManagementProperties) Validate() error {
	var errs []error
	if strings.ContainsAny(p.Endpoints.BasePath, "?#*: ") {
		errs = append(errs, errors.New("endpoints.base-path: must be a plain path such as /actuator"))
	}
	for _, id := range p.Endpoints.Exposure {
		if id != "*" && !slices.Contains(endpoints, id) {
			errs = append(errs, fmt.Errorf("endpoints.exposure: %q is not an endpoint, known are %s", id, strings.Join(endpoints, ", ")))
		}
	}
	return errors.Join(errs...)
}

// exposes reports whether an endpoint can be reached.
func (p *ManagementProperties) exposes(id string) bool {
	return slices.Contains(p.Endpoints.Exposure, id) || slices.Contains(p.Endpoints.Exposure, "*")
}

// basePath returns the base path with one leading and no trailing slash, "" for
// the root.
func (p *ManagementProperties) basePath() string {
	trimmed := strings.Trim(p.Endpoints.BasePath, "/")
	if trimmed == "" {
		return ""
	}
	return "/" + trimmed
}
