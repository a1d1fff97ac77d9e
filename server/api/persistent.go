package api

import (
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/state"
)

// persistent reports whether a request means a persistent instance.
func (a *API) persistent(c *call) bool {
	return !c.LooseBool(a.switches.Load().DefaultInstanceEphemeral, "ephemeral")
}

// stored is a checked registration as the state keeps it.
func stored(k wire.ServiceKey, r naming.Registration) state.Instance {
	return state.Instance{
		Service: k, InstanceKey: state.InstanceKey(r.InstanceKey), Weight: r.Weight, Enabled: r.Enabled,
		Healthy: r.Healthy, Metadata: r.Metadata, App: r.App,
	}
}

func (a *API) registerPersistent(c *call, k wire.ServiceKey, r naming.Registration) (answer, error) {
	r, err := a.store.CheckPersistent(k, r, false)
	if err != nil {
		return answer{}, err
	}
	return a.change(c, &state.RegisterInstance{Instance: stored(k, r)})
}

func (a *API) updatePersistent(c *call, k wire.ServiceKey, r naming.Registration) (answer, error) {
	mustExist := c.agent().GroupedNames()
	r, err := a.store.CheckPersistent(k, r, mustExist)
	if err != nil {
		return answer{}, err
	}
	return a.change(c, &state.UpdateInstance{Instance: stored(k, r), MustExist: mustExist})
}

// patchPersistent changes single values. The health is not the state's: it holds
// until the next probe finds another one.
func (a *API) patchPersistent(c *call, k wire.ServiceKey, ik naming.InstanceKey, p naming.Patch) (answer, error) {
	command := &state.PatchInstance{
		Service: k, InstanceKey: state.InstanceKey(ik), Enabled: p.Enabled, Healthy: p.Healthy, App: p.App,
	}
	if p.Weight != nil {
		weight := wire.ClampWeight(*p.Weight)
		command.Weight = &weight
	}
	if p.Metadata != nil {
		command.Metadata = &p.Metadata
	}
	reply, err := a.change(c, command)
	if err == nil && p.Healthy != nil {
		a.store.SetPersistentHealth(k, ik, *p.Healthy)
	}
	return reply, err
}

func (a *API) deregisterPersistent(c *call, k wire.ServiceKey, ik naming.InstanceKey) (answer, error) {
	return a.change(c, &state.DeregisterInstance{Service: k, InstanceKey: state.InstanceKey(ik)})
}
