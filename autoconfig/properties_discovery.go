package autoconfig

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/static"
	"github.com/rollcall-go/rollcall/registry"
)

// DiscoveryProperties is the block cloud.discovery.
type DiscoveryProperties struct {
	// Enabled looks services up and registers, on; false does neither.
	Enabled bool `mapstructure:"enabled"`
	// Client says where to look.
	Client DiscoveryClientProperties `mapstructure:"client"`
}

// DiscoveryClientProperties is the block cloud.discovery.client.
type DiscoveryClientProperties struct {
	// CompositeIndicator puts the indicators of discovery together as
	// discoveryComposite, on.
	CompositeIndicator Switch `mapstructure:"composite-indicator"`
	// HealthIndicator is about the indicator discoveryClient.
	HealthIndicator DiscoveryIndicatorProperties `mapstructure:"health-indicator"`
	// Order of the sources, [nacos, simple]. Sources of the application's own come
	// by their names, those that are not listed last.
	Order []string `mapstructure:"order"`
	// Merge is first-non-empty (default): the first source in order that has
	// instances of a service answers; or union: all sources together.
	Merge discovery.Merge `mapstructure:"merge"`
	// Simple is a fixed catalogue.
	Simple SimpleDiscoveryProperties `mapstructure:"simple"`
}

// DiscoveryIndicatorProperties is the block
// cloud.discovery.client.health-indicator.
type DiscoveryIndicatorProperties struct {
	// IncludeDescription names the sources in the details, off.
	IncludeDescription bool `mapstructure:"include-description"`
	// UseServicesQuery asks for the names of all services each time and shows them,
	// on. Off asks nobody: it is DOWN while a list in use cannot be refreshed.
	UseServicesQuery bool `mapstructure:"use-services-query"`
}

// SimpleDiscoveryProperties is the block cloud.discovery.client.simple.
type SimpleDiscoveryProperties struct {
	// Instances by service, whose name may be GROUP@@name, {}.
	Instances map[string][]SimpleInstance `mapstructure:"instances"`
	// Local is this process.
	Local LocalInstanceProperties `mapstructure:"local"`
}

// SimpleInstance is an instance of the fixed catalogue: a URI, or host and port.
type SimpleInstance struct {
	// URI such as https://10.0.0.1:8443, in place of host, port and secure.
	URI string `mapstructure:"uri"`
	// Host is an address or a host name.
	Host string `mapstructure:"host"`
	// Port is 1 to 65535.
	Port int `mapstructure:"port"`
	// Secure has callers use https.
	Secure bool `mapstructure:"secure"`
	// InstanceID names the instance, may be empty.
	InstanceID string `mapstructure:"instance-id"`
	// Metadata is free text by case-exact key.
	Metadata map[string]string `mapstructure:"metadata"`
}

// simpleSource is the word of the configuration for the fixed catalogue, Spring's;
// the source itself says static.
const simpleSource = "simple"

// nacosSource is the name of the registry among the sources.
const nacosSource = "nacos"

// DefaultDiscoveryProperties returns the defaults of the block cloud.discovery.
func DefaultDiscoveryProperties() DiscoveryProperties {
	return DiscoveryProperties{Enabled: true, Client: DiscoveryClientProperties{
		CompositeIndicator: Switch{true},
		HealthIndicator:    DiscoveryIndicatorProperties{UseServicesQuery: true},
		Order:              []string{nacosSource, simpleSource},
		Merge:              discovery.MergeFirstNonEmpty,
	}}
}

// Validate reports every value that cannot work.
func (p *DiscoveryProperties) Validate() error {
	var errs []error
	if m := p.Client.Merge; m != discovery.MergeFirstNonEmpty && m != discovery.MergeUnion {
		errs = append(errs, fmt.Errorf("client.merge: must be %s or %s", discovery.MergeFirstNonEmpty, discovery.MergeUnion))
	}
	table, err := p.Client.table()
	if err == nil {
		_, err = static.New(table)
	}
	errs = append(errs, problemsOf("client.simple.instances", err))
	if _, _, _, err := p.Client.Simple.Local.place(); err != nil {
		errs = append(errs, fmt.Errorf("client.simple.local.%w", err))
	}
	return errors.Join(errs...)
}

// table is the fixed catalogue as instances.
func (p *DiscoveryClientProperties) table() (map[string][]registry.Instance, error) {
	table := make(map[string][]registry.Instance, len(p.Simple.Instances))
	var errs []error
	for _, service := range slices.Sorted(maps.Keys(p.Simple.Instances)) {
		for n, s := range p.Simple.Instances[service] {
			i, err := s.instance()
			if err != nil {
				errs = append(errs, fmt.Errorf("instance %d of service %q: %w", n, service, err))
				continue
			}
			table[service] = append(table[service], i)
		}
	}
	return table, errors.Join(errs...)
}

func (s *SimpleInstance) instance() (registry.Instance, error) {
	text := s.URI
	switch {
	case s.URI != "" && (s.Host != "" || s.Port != 0):
		return registry.Instance{}, errors.New("has a uri as well as a host or port")
	case s.URI == "":
		text = net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	}
	i, err := static.ParseInstance(text)
	if err != nil {
		return registry.Instance{}, err
	}
	i.ID = s.InstanceID
	if i.Metadata == nil {
		i.Metadata = map[string]string{}
	}
	if s.Secure {
		i.Metadata[registry.MetadataSecure] = "true"
	}
	maps.Copy(i.Metadata, s.Metadata)
	return i, nil
}
