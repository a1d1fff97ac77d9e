package autoconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/registry"
)

// registrationKeys are what the registration is made of; addressKeys are those
// that decide on its address.
var (
	registrationKeys = []string{
		"application.name",
		"cloud.nacos.discovery.namespace", "cloud.nacos.discovery.service", "cloud.nacos.discovery.group",
		"cloud.nacos.discovery.cluster-name", "cloud.nacos.discovery.weight", "cloud.nacos.discovery.metadata",
		"cloud.nacos.discovery.instance-enabled", "cloud.nacos.discovery.ephemeral", "cloud.nacos.discovery.port",
		"cloud.nacos.discovery.secure", "cloud.nacos.discovery.heart-beat-interval",
		"cloud.nacos.discovery.heart-beat-timeout", "cloud.nacos.discovery.ip-delete-timeout",
	}
	addressKeys = []string{
		"cloud.nacos.discovery.ip", "cloud.nacos.discovery.network-interface", "cloud.nacos.discovery.ip-type",
		"cloud.inetutils.default-ip-address", "cloud.inetutils.ignored-interfaces",
		"cloud.inetutils.preferred-networks", "cloud.inetutils.use-only-site-local-interfaces",
		"cloud.inetutils.pod-ip-env",
	}
)

// partsOf are the parts of the registration that a key sets, by the names that
// [registry.AutoServiceRegistration.Shadowed] has for them. Of the metadata they are
// the keys in it, all of those before and after a change.
func partsOf(key string, metadata ...map[string]string) []string {
	switch name := strings.TrimPrefix(key, "cloud.nacos.discovery."); name {
	case "application.name", "namespace", "service", "group":
		return []string{"service"}
	case "cluster-name":
		return []string{"cluster"}
	case "instance-enabled":
		return []string{"enabled"}
	case "weight", "ephemeral", "port":
		return []string{name}
	case "secure":
		return []string{"metadata." + registry.MetadataSecure}
	case "heart-beat-interval":
		return []string{"metadata." + registry.MetadataBeatInterval}
	case "heart-beat-timeout":
		return []string{"metadata." + registry.MetadataBeatTimeout}
	case "ip-delete-timeout":
		return []string{"metadata." + registry.MetadataDeleteTimeout}
	case "metadata":
		var parts []string
		for _, m := range metadata {
			for key := range m {
				parts = append(parts, "metadata."+key)
			}
		}
		return parts
	}
	if slices.Contains(addressKeys, key) {
		return []string{"ip"}
	}
	return nil
}

// shadowOf returns the strongest layer that says otherwise than a key, "" where the
// key has its effect.
func shadowOf(parts []string, shadowed map[string]registry.Layer) (by registry.Layer) {
	for _, part := range parts {
		if by != registry.LayerRuntime {
			by = cmp.Or(shadowed[part], by)
		}
	}
	return by
}

// changedEntries are the entries of two maps that are not in both.
func changedEntries(before, after map[string]string) map[string]string {
	changed := map[string]string{}
	for _, m := range []map[string]string{before, after} {
		for key, value := range m {
			if before[key] != value || after[key] != value {
				changed[key] = value
			}
		}
	}
	return changed
}

// applyServers goes over to other nodes, registers there at once, and then takes
// the instance out at the former ones. Where registering fails, the new nodes are in
// effect all the same, attempts go on in the background, and what stands at the
// former ones ends there with its beats.
func (r *reloader) applyServers(ctx context.Context, next *settings, _ []string) error {
	nacos := r.parts.inside.nacos
	if nacos == nil {
		return errNotThere
	}
	servers, _ := next.nacos.servers()
	before := nacos.client.Servers()
	if err := nacos.client.SetServers(servers); err != nil {
		return err
	}
	r.settings.nacos.ServerAddr = next.nacos.ServerAddr
	r.settings.nacos.Discovery.ServerAddr = next.nacos.Discovery.ServerAddr
	a := r.parts.inside.registration
	if a == nil || slices.Equal(before, nacos.client.Servers()) {
		return nil
	}
	if err := a.Renew(ctx); err != nil {
		return &unfinishedError{fmt.Errorf("the nodes were replaced, but registering there failed: %w", err)}
	}
	if a.State() != registry.StateRegistered || slices.ContainsFunc(before, func(node string) bool { return slices.Contains(nacos.client.Servers(), node) }) {
		return nil // nothing to take out, or it is the same registry
	}
	if err := r.leave(ctx, before); err != nil {
		// Mostly why there are new nodes: the former ones do not answer any more.
		r.parts.logger.Warn("the instance may stay at the former nodes of the registry until its beats are missed there", slog.Any("error", err))
		return nil
	}
	return r.assure(ctx, a)
}

// leave takes the instance out at nodes that are not used any more.
func (r *reloader) leave(ctx context.Context, nodes []string) error {
	former, err := r.settings.nacosClient()
	if err != nil {
		return err
	}
	former.Servers, former.Logger = nodes, r.parts.logger
	client, err := nacosclient.New(former)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.settings.serviceRegistry.AutoRegistration.DeregisterTimeout)
	defer cancel()
	return errors.Join(client.Deregister(ctx, r.parts.inside.registration.Registration()), client.Close())
}

// assure registers once more where leaving the former nodes took the instance out
// at the new ones: they are the same registry under other names. A persistent
// instance has no beats that would bring it back later.
func (r *reloader) assure(ctx context.Context, a *registry.AutoServiceRegistration) error {
	mine := a.Registration()
	if list, err := r.parts.inside.nacos.client.List(ctx, mine.Service, 0, ""); err == nil && mine.Ephemeral {
		for _, h := range list.Hosts {
			listed := registry.Instance{Service: mine.Service, Cluster: h.ClusterName, IP: h.IP, Port: h.Port}
			if listed.Key() == mine.Key() {
				return nil
			}
		}
	}
	if err := a.Renew(ctx); err != nil {
		return &unfinishedError{fmt.Errorf("the nodes were replaced, but registering there once more failed: %w", err)}
	}
	return nil
}

// applyRegistration makes the registration anew from the properties, below what
// customizers, hooks and changes at run time say. The registry is told by one
// update; where the instance or its service is another one now, that is registered,
// calls by name go on from there, and then the former is taken out.
func (r *reloader) applyRegistration(ctx context.Context, next *settings, keys []string) error {
	a := r.parts.inside.registration
	if a == nil {
		return errNotThere
	}
	wanted := *r.parts.offer
	if slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(addressKeys, key) }) {
		if err := wanted.choose(next); err != nil {
			return err
		}
	}
	metadata := changedEntries(r.settings.nacos.Discovery.Metadata, next.nacos.Discovery.Metadata)
	if err := a.Refresh(ctx, wanted.registration(next), func() { r.lookFrom(next) }); err != nil {
		return err
	}
	*r.parts.offer = wanted
	for _, key := range keys {
		if by := shadowOf(partsOf(key, metadata), a.Shadowed()); by != "" {
			r.shadowed[key] = by
		}
	}
	return nil
}
