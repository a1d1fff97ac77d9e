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
		IP: d.IP, Interface: d.NetworkInterface, ListenIP: s.server.Address, IPType: d.IPType,
		PodIPEnv: u.PodIPEnv, IgnoredInterfaces: u.IgnoredInterfaces, PreferredNetworks: u.PreferredNetworks,
		SiteLocalOnly: u.UseOnlySiteLocalInterfaces, DefaultIP: u.DefaultIPAddress,
	}
}

// offer makes what this application offers of its properties. The address is
// chosen once, and again only when something about it was configured anew: a
// change of the weight must not move an instance whose network has changed.
type offer struct {
	logger *slog.Logger
	choice netaddr.Choice
}

// newOffer chooses the address. One log line says how (B-R2).
func newOffer(s *settings, logger *slog.Logger) (*offer, error) {
	o := &offer{logger: logger}
	return o, o.choose(s)
}

func (o *offer) choose(s *settings) error {
	choice, err := netaddr.Select(s.address(), s.host.interfaces)
	if err != nil {
		return fmt.Errorf("choose the address to register: %w", err)
	}
	choice.Log(context.Background(), o.logger)
	o.choice = choice
	return nil
}

// registration is what is offered, but for a port that only the web server knows.
func (o *offer) registration(s *settings) registry.Registration {
	d := &s.nacos.Discovery
	i := registry.NewInstance(s.serviceID(), o.choice.IP, max(d.Port, 0))
	i.Cluster = cmp.Or(d.ClusterName, registry.DefaultCluster)
	i.Weight = d.Weight
	i.Enabled = d.InstanceEnabled
	i.Ephemeral = d.Ephemeral
	i.Metadata = metadata(d, o.choice.IPv6)
	return registry.Registration{Instance: i}
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
