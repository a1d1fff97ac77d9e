package autoconfig

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/netaddr"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

// ServiceRegistryProperties is the block cloud.service-registry.
type ServiceRegistryProperties struct {
	// AutoRegistration is how the application makes itself known.
	AutoRegistration AutoRegistrationProperties `mapstructure:"auto-registration"`
}

// AutoRegistrationProperties is the block
// cloud.service-registry.auto-registration.
type AutoRegistrationProperties struct {
	// Enabled registers the application, on.
	Enabled bool `mapstructure:"enabled"`
	// RegisterManagement tells callers in the metadata where the actuator is when
	// management.server.port is set, on.
	RegisterManagement bool `mapstructure:"register-management"`
	// FailFast makes the start fail when there is no registry to register with,
	// off. It says nothing about a call to the registry that fails: that is
	// cloud.nacos.discovery.fail-fast.
	FailFast bool `mapstructure:"fail-fast"`
	// RegisterWhen is ready (default: the last step of the start), listening (once
	// the web server listens, Spring's moment) or manual.
	RegisterWhen registry.RegisterWhen `mapstructure:"register-when"`
	// RegisterDelay is added to that moment, 0s. The start does not wait for it.
	RegisterDelay time.Duration `mapstructure:"register-delay"`
	// InitialStatus is UP (default) or DOWN, which registers without traffic.
	InitialStatus registry.Status `mapstructure:"initial-status"`
	// DeregisterTimeout bounds the deregistration at the stop, 3s.
	DeregisterTimeout time.Duration `mapstructure:"deregister-timeout"`
	// Drain is how long the application serves on after it has deregistered, 0s;
	// as long as callers keep a list is right.
	Drain time.Duration `mapstructure:"drain"`
}

// DefaultServiceRegistryProperties returns the defaults of the block
// cloud.service-registry.
func DefaultServiceRegistryProperties() ServiceRegistryProperties {
	d := registry.DefaultAutoOptions()
	return ServiceRegistryProperties{AutoRegistration: AutoRegistrationProperties{
		Enabled:            d.Enabled,
		RegisterManagement: true,
		RegisterWhen:       d.When,
		InitialStatus:      d.InitialStatus,
		DeregisterTimeout:  d.DeregisterTimeout,
	}}
}

// InetUtilsProperties is the block cloud.inetutils: which address is registered
// when none is configured, and what the host is called.
type InetUtilsProperties struct {
	// DefaultHostname stands for the host's name when the system knows none,
	// localhost.
	DefaultHostname string `mapstructure:"default-hostname"`
	// DefaultIPAddress is taken when no interface has a usable one, 127.0.0.1.
	DefaultIPAddress string `mapstructure:"default-ip-address"`
	// Timeout bounds looking up the host's name by its address, which only the
	// placeholder ${cloud.client.hostname} does, 1s. 0 looks nothing up: the name is
	// the one that the system has.
	Timeout time.Duration `mapstructure:"timeout"`
	// IgnoredInterfaces are regular expressions for whole names of interfaces that
	// are not looked at; by default those of containers, virtual machines and
	// VPNs. An empty list looks at all.
	IgnoredInterfaces []string `mapstructure:"ignored-interfaces"`
	// PreferredNetworks, when set, are the only ones an address is taken from,
	// earlier entries first: a CIDR, the beginning of an address or a regular
	// expression.
	PreferredNetworks []string `mapstructure:"preferred-networks"`
	// UseOnlySiteLocalInterfaces takes private addresses only, off. The preferred
	// networks then play no part.
	UseOnlySiteLocalInterfaces bool `mapstructure:"use-only-site-local-interfaces"`
	// PodIPEnv names the environment variable that beats the search, POD_IP; ""
	// looks at none.
	PodIPEnv string `mapstructure:"pod-ip-env"`
}

// Validate reports every value that cannot work.
func (p *InetUtilsProperties) Validate() error {
	return notNegative("timeout", p.Timeout)
}

// DefaultInetUtilsProperties returns the defaults of the block cloud.inetutils.
func DefaultInetUtilsProperties() InetUtilsProperties {
	d := netaddr.DefaultOptions()
	return InetUtilsProperties{DefaultHostname: "localhost", DefaultIPAddress: d.DefaultIP, Timeout: time.Second, IgnoredInterfaces: d.IgnoredInterfaces, PodIPEnv: d.PodIPEnv}
}

// upperStatus makes the declared status case-insensitive, as Spring has it.
func upperStatus(s registry.Status) registry.Status {
	return registry.Status(strings.ToUpper(string(s)))
}

// longestBeatTime bounds the times an instance may set for itself, as the registry
// does.
const longestBeatTime = 24 * time.Hour

// checkMillis is the rule of a duration that the registry is told in whole
// milliseconds.
func checkMillis(key string, d time.Duration) error {
	if d < 0 || d%time.Millisecond != 0 {
		return fmt.Errorf("%s: must be whole milliseconds, and 0 or more", key)
	}
	if d > longestBeatTime {
		return fmt.Errorf("%s: must not be above %s", key, longestBeatTime)
	}
	return nil
}

// checkBeats is the rule of the three beat times of an instance (C-R16): with a
// timeout below the interval it would never be healthy.
func checkBeats(interval, timeout, remove time.Duration, allowShort bool) error {
	errs := []error{
		checkMillis("discovery.heart-beat-interval", interval),
		checkMillis("discovery.heart-beat-timeout", timeout),
		checkMillis("discovery.ip-delete-timeout", remove),
	}
	if interval > 0 && interval < time.Second && !allowShort {
		errs = append(errs, errors.New("discovery.heart-beat-interval: is below 1s, which is mostly a mistaken unit; set allow-short-beat if it is meant"))
	}
	if interval == 0 {
		interval = wire.DefaultBeatInterval
	}
	if timeout > 0 && timeout < interval {
		errs = append(errs, fmt.Errorf("discovery.heart-beat-timeout: must not be below the beat interval of %s", interval))
	}
	if timeout == 0 && interval > wire.DefaultBeatTimeout {
		errs = append(errs, fmt.Errorf("discovery.heart-beat-interval: is above the heart-beat-timeout of %s", wire.DefaultBeatTimeout))
	}
	if remove > 0 && remove < interval {
		errs = append(errs, fmt.Errorf("discovery.ip-delete-timeout: must not be below the beat interval of %s", interval))
	}
	if remove == 0 && timeout >= interval && interval > wire.DefaultDeleteTimeout {
		errs = append(errs, fmt.Errorf("discovery.heart-beat-interval: is above the ip-delete-timeout of %s", wire.DefaultDeleteTimeout))
	}
	return errors.Join(errs...)
}
