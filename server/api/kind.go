package api

import (
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
)

// find returns the instances at an address, of which there can be one of each
// kind; nil for none.
func (a *API) find(k wire.ServiceKey, ik naming.InstanceKey) (ephemeral, persistent *naming.Instance) {
	revision, found := a.store.Lookup(k)
	if !found {
		return nil, nil
	}
	return revision.Find(ik)
}

// meant says whether a request about an address means the persistent one of the
// instances there. Without the parameter ephemeral that is the one there is,
// whatever its kind, and unnamed where both are. A parameter that contradicts the
// only one there is an error, and where both are it selects (SB-26).
func (c *call) meant(ephemeral, persistent *naming.Instance, unnamed bool) (wantPersistent bool, err error) {
	named := c.Get("ephemeral") != ""
	wantPersistent = !c.LooseBool(true, "ephemeral")
	switch {
	case ephemeral != nil && persistent != nil:
		return named && wantPersistent || !named && unnamed, nil
	case !named:
		return persistent != nil, nil
	case wantPersistent && ephemeral != nil:
		return false, wire.BadRequest("the instance is ephemeral, and ephemeral=false was asked for; nothing was changed")
	case !wantPersistent && persistent != nil:
		return false, wire.BadRequest("the instance is persistent, and ephemeral=true was asked for; nothing was changed")
	}
	return wantPersistent, nil
}
