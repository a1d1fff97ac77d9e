package autoconfig

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/internal/netaddr"
	"github.com/rollcall-go/rollcall/registry"
)

// registerSource is the value of the metadata key that says what registered an
// instance.
const registerSource = "ROLLCALL"

// serviceID is the service this application offers.
func (s *settings) serviceID() registry.ServiceID {
	d := &s.nacos.Discovery
	return registry.ServiceID{
		Namespace: d.Namespace, Group: d.Group,
		Name: cmp.Or(d.Service, s.application.Name),
	}.Normalize()
}

// address says how the address to register is chosen.
func (s *settings) address() netaddr.Options {
	d, u := &s.nacos.Discovery, s.inetutils
	return netaddr.Options{
		IP: d.IP, Interface: d.NetworkInterface, IPType: d.IPType,
		PodIPEnv: u.PodIPEnv, IgnoredInterfaces: u.IgnoredInterfaces, PreferredNetworks: u.PreferredNetworks,
		SiteLocalOnly: u.UseOnlySiteLocalInterfaces, DefaultIP: u.DefaultIPAddress,
	}
}

// newRegistration is what this application offers, but for a port that only the
// web server knows. One log line says how the address was chosen (B-R2).
func newRegistration(s *settings, logger *slog.Logger) (registry.Registration, error) {
	d := &s.nacos.Discovery
	choice, err := netaddr.Select(s.address(), netaddr.System{})
	if err != nil {
		return registry.Registration{}, fmt.Errorf("choose the address to register: %w", err)
	}
	choice.Log(context.Background(), logger)
	i := registry.NewInstance(s.serviceID(), choice.IP, max(d.Port, 0))
	i.Cluster = cmp.Or(d.ClusterName, registry.DefaultCluster)
	i.Weight = d.Weight
	i.Enabled = d.InstanceEnabled
	i.Ephemeral = d.Ephemeral
	i.Metadata = metadata(d, choice.IPv6)
	return registry.Registration{Instance: i}, nil
}

// metadata is the user's, with what is added by itself (client-behaviour B.3).
// The beat times are stated only when they were configured, so that the
// registry's own apply otherwise.
func metadata(d *NacosDiscoveryProperties, ipv6 string) map[string]string {
	m := map[string]string{registry.MetadataRegisterSource: registerSource}
	if d.Secure {
		m[registry.MetadataSecure] = "true"
	}
	if ipv6 != "" {
		m[registry.MetadataIPv6] = ipv6
	}
	for key, d := range map[string]time.Duration{
		registry.MetadataBeatInterval:  d.HeartBeatInterval,
		registry.MetadataBeatTimeout:   d.HeartBeatTimeout,
		registry.MetadataDeleteTimeout: d.IPDeleteTimeout,
	} {
		if d > 0 {
			m[key] = strconv.FormatInt(d.Milliseconds(), 10)
		}
	}
	maps.Copy(m, d.Metadata)
	return m
}

// autoOptions say when and how to register.
func (s *settings) autoOptions() registry.AutoOptions {
	a, d := &s.serviceRegistry.AutoRegistration, &s.nacos.Discovery
	return registry.AutoOptions{
		Enabled:           a.Enabled,
		When:              a.RegisterWhen,
		Delay:             a.RegisterDelay,
		InitialStatus:     upperStatus(a.InitialStatus),
		FailFast:          d.FailFast,
		Retry:             registry.RetryOptions{Initial: d.RegisterRetry.Initial, Max: d.RegisterRetry.Max, Jitter: d.RegisterRetry.Jitter},
		DeregisterTimeout: a.DeregisterTimeout,
		Drain:             a.Drain,
		ShutdownReserve:   s.shutdownTime(),
	}
}
