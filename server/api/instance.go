package api

import (
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
)

// instanceKey reads a service and the address of an instance in it. Only some
// endpoints know the alias "cluster" of clusterName.
func (c *call) instanceKey(clusterNames ...string) (of wire.ServiceKey, k naming.InstanceKey, err error) {
	if of, err = c.ServiceKey(); err != nil {
		return of, k, err
	}
	ip, err := c.Required("ip")
	if err != nil {
		return of, k, err
	}
	if _, err := c.Required("port"); err != nil {
		return of, k, err
	}
	if k.IP, err = wire.ParseIP(ip); err != nil {
		return of, k, err
	}
	if k.Port, err = wire.ParsePort(c.Get("port")); err != nil {
		return of, k, err
	}
	k.Cluster, err = wire.ParseCluster(c.Get(clusterNames...))
	return of, k, err
}

// registration reads what POST, PUT and DELETE have in common: everything, with
// defaults for what is absent.
func (c *call) registration() (k wire.ServiceKey, r naming.Registration, err error) {
	if k, r.InstanceKey, err = c.instanceKey("clusterName", "cluster"); err != nil {
		return k, r, err
	}
	if r.Weight, err = wire.ParseWeight(c.Get("weight")); err != nil {
		return k, r, err
	}
	if r.Metadata, err = wire.ParseMetadata(c.Get("metadata")); err != nil {
		return k, r, err
	}
	r.Enabled = c.LooseBool(true, "enabled", "enable")
	r.Healthy = c.LooseBool(true, "healthy")
	r.App = c.Get("app")
	return k, r, nil
}

func (a *API) registerInstance(c *call) (answer, error) {
	k, r, err := c.registration()
	if err != nil {
		return answer{}, err
	}
	if a.persistent(c) {
		return a.registerPersistent(c, k, r)
	}
	return ok, a.store.Register(k, r)
}

// updateInstance replaces all values of an instance. An SDK that changes what it
// registered itself registers anew; from everyone else it is an operator's
// change. A Java client's must name what exists; for the others it creates what
// does not (Nacos HTTP v1: update). A kind that is named is the kind that is
// meant; unnamed it is that of the only instance there (SB-25).
func (a *API) updateInstance(c *call) (answer, error) {
	k, r, err := c.registration()
	if err != nil {
		return answer{}, err
	}
	wantPersistent := a.persistent(c)
	if c.Get("ephemeral") == "" {
		if ephemeral, persistent := a.find(k, r.InstanceKey); (ephemeral == nil) != (persistent == nil) {
			wantPersistent = persistent != nil
		}
	}
	if wantPersistent {
		return a.updatePersistent(c, k, r)
	}
	agent := c.agent()
	if agent.UpdatesItself() {
		return ok, a.store.Register(k, r)
	}
	return ok, a.store.Update(k, r, c.given(), agent.GroupedNames())
}

// given says which values of a registration the request names.
func (c *call) given() naming.Given {
	return naming.Given{
		Weight:   c.Get("weight") != "",
		Enabled:  c.Get("enabled", "enable") != "",
		Metadata: c.Get("metadata") != "",
		App:      c.Get("app") != "",
	}
}

// patchInstance changes single values of an instance that is there. Of both kinds
// the persistent one is meant unless the request says otherwise (SB-25).
func (a *API) patchInstance(c *call) (answer, error) {
	k, ik, err := c.instanceKey("clusterName", "cluster")
	if err != nil {
		return answer{}, err
	}
	var p naming.Patch
	if text := c.Get("weight"); text != "" {
		weight, err := wire.ParseWeight(text)
		if err != nil {
			return answer{}, err
		}
		p.Weight = &weight
	}
	if text := c.Get("metadata"); text != "" {
		if p.Metadata, err = wire.ParseMetadata(text); err != nil {
			return answer{}, err
		}
	}
	if c.Get("enabled") != "" {
		enabled := c.LooseBool(true, "enabled")
		p.Enabled = &enabled
	}
	if c.Get("healthy") != "" {
		healthy := c.LooseBool(true, "healthy")
		p.Healthy = &healthy
	}
	if app := c.Get("app"); app != "" {
		p.App = &app
	}
	ephemeral, persistent := a.find(k, ik)
	wantPersistent, err := c.meant(ephemeral, persistent, true)
	if err != nil {
		return answer{}, err
	}
	if wantPersistent {
		return a.patchPersistent(c, k, ik, p)
	}
	return ok, a.store.Patch(k, ik, p)
}

// deregisterInstance removes an instance. What is not there is removed already.
// Where instances of both kinds are, the ephemeral one goes unless the request
// or the switch defaultInstanceEphemeral says otherwise.
func (a *API) deregisterInstance(c *call) (answer, error) {
	k, r, err := c.registration()
	if err != nil {
		return answer{}, err
	}
	ephemeral, persistent := a.find(k, r.InstanceKey)
	if ephemeral == nil && persistent == nil {
		return ok, nil
	}
	wantPersistent, err := c.meant(ephemeral, persistent, a.persistent(c))
	if err != nil {
		return answer{}, err
	}
	if wantPersistent {
		return a.deregisterPersistent(c, k, r.InstanceKey)
	}
	return ok, a.store.Deregister(k, r.InstanceKey)
}

// instanceDetail shows one instance with its real health, never the one that
// protection makes of it (SB-09).
func (a *API) instanceDetail(c *call) (answer, error) {
	k, ik, err := c.instanceKey("clusterName")
	if err != nil {
		return answer{}, err
	}
	revision, found := a.store.Lookup(k)
	if !found {
		return answer{}, notFoundf("no service %s found!", k.ServiceName)
	}
	in, found := revision.Get(ik)
	if !found {
		if isEmpty(revision, ik.Cluster) {
			return answer{}, notFoundf("no ips found for cluster %s in service %s", ik.Cluster, k.ServiceName)
		}
		return answer{}, notFoundf("no matched ip found!")
	}
	return jsonOf(struct {
		Service     string            `json:"service"`
		IP          string            `json:"ip"`
		Port        int               `json:"port"`
		ClusterName string            `json:"clusterName"`
		Weight      wire.Float        `json:"weight"`
		Healthy     bool              `json:"healthy"`
		InstanceID  string            `json:"instanceId"`
		Metadata    map[string]string `json:"metadata"`
		// The effective times, which Nacos shows in its console only (SB-07).
		Beat    int64 `json:"instanceHeartBeatInterval"`
		Timeout int64 `json:"instanceHeartBeatTimeOut"`
		Delete  int64 `json:"ipDeleteTimeout"`
	}{
		k.ServiceName.String(), in.IP, in.Port, in.Cluster,
		wire.Float(in.Weight), in.Healthy, in.ID, notNull(in.Metadata),
		in.Intervals.Beat.Milliseconds(), in.Intervals.Timeout.Milliseconds(), in.Intervals.Delete.Milliseconds(),
	})
}
