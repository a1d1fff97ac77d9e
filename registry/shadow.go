package registry

import "slices"

// Layer is who has a say in a registration beyond its configuration, and above it
// (client case 25).
type Layer string

// The layers.
const (
	// LayerCode are customizers, listeners of [InstancePreRegistered] and hooks.
	LayerCode Layer = "customizer or hook"
	// LayerRuntime is what was changed at run time: by [AutoServiceRegistration.Update]
	// and [AutoServiceRegistration.SetStatus], by the actuator, and at the registry
	// where that is watched.
	LayerRuntime Layer = "change at run time"
)

// Shadowed returns what the configuration says of the registration in vain, since
// a stronger layer says otherwise: by name service, ip, port, cluster, weight,
// healthy, enabled, ephemeral, and metadata.zone for the key zone. A change of the
// configuration alone changes none of it.
func (a *AutoServiceRegistration) Shadowed() map[string]Layer {
	a.mu.Lock()
	defer a.mu.Unlock()
	configured := a.template.clone()
	if configured.Port == 0 {
		configured.Port = a.current.Port // it says nothing of the port
	}
	runtime := a.runtime.names()
	if a.status != "" {
		runtime = append(runtime, "enabled")
	}
	shadowed := map[string]Layer{}
	for _, name := range between(configured, a.current).names() {
		if shadowed[name] = LayerCode; slices.Contains(runtime, name) {
			shadowed[name] = LayerRuntime
		}
	}
	return shadowed
}

// names are the parts of a registration that the layer changes.
func (o overlay) names() []string {
	var names []string
	for name, changes := range map[string]bool{
		"service": o.service != nil, "ip": o.ip != nil, "port": o.port != nil, "cluster": o.cluster != nil, "weight": o.weight != nil,
		"healthy": o.healthy != nil, "enabled": o.enabled != nil, "ephemeral": o.isEphemeral != nil,
	} {
		if changes {
			names = append(names, name)
		}
	}
	for key := range o.set {
		names = append(names, "metadata."+key)
	}
	for key := range o.removed {
		names = append(names, "metadata."+key)
	}
	return names
}
