package autoconfig

import (
	"cmp"
	"context"
)

// lookupKeys also say where names are looked up, and which cluster and zone calls
// prefer: the caller's own.
var lookupKeys = []string{
	"cloud.nacos.discovery.namespace", "cloud.nacos.discovery.group",
	"cloud.nacos.discovery.cluster-name", "cloud.nacos.discovery.metadata",
}

// applyLookups is what is left of a move where nothing is registered.
func (r *reloader) applyLookups(_ context.Context, next *settings, _ []string) error {
	if r.parts.inside.discovery == nil {
		return errNotThere
	}
	r.lookFrom(next)
	return nil
}

// lookFrom has calls by name look where the application is now. What has not
// changed is left alone, since the application may have decorated it.
// Subscriptions stay with the services that they were made for.
func (r *reloader) lookFrom(next *settings) {
	now, was := &next.nacos.Discovery, &r.settings.nacos.Discovery
	in := r.parts.inside
	if in.discovery != nil && (now.Namespace != was.Namespace || now.Group != was.Group) {
		in.discovery.SetDefaults(now.Namespace, now.Group)
	}
	// Who this process is where nothing is registered stays as it was at the start.
	zone := cmp.Or(now.Metadata["zone"], r.settings.discovery.Client.Simple.Local.Metadata["zone"])
	if in.balancer != nil && (now.ClusterName != was.ClusterName || zone != r.settings.zone()) {
		in.balancer.Relocate(now.ClusterName, zone)
	}
	was.Namespace, was.Group, was.ClusterName, was.Metadata = now.Namespace, now.Group, now.ClusterName, now.Metadata
}
