package api

import (
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
)

// beat takes a sign of life. What it is about is named by the request: namespace,
// group and service always, address and cluster by the document if there is one
// (SB-06). An instance that is not known is created from the document; without
// one the client is told to register again (SB-05).
func (a *API) beat(c *call) (answer, error) {
	k, err := c.ServiceKey()
	if err != nil {
		return answer{}, err
	}
	return a.beatOf(c, k)
}

func (a *API) beatOf(c *call, k wire.ServiceKey) (answer, error) {
	port, err := c.Int("port", 0)
	if err != nil {
		return answer{}, err
	}
	ip, cluster := c.Get("ip"), c.Get("clusterName")
	var full *wire.Beat
	if document := c.Get("beat"); document != "" && document != "null" { // which says that there is none
		if full, err = wire.ParseBeat(document); err != nil {
			return answer{}, err
		}
		ip, port = full.IP, full.Port
		if full.Cluster != "" {
			cluster = full.Cluster
		}
	}
	if err := wire.CheckPort(port); err != nil {
		return answer{}, err
	}
	ik := naming.InstanceKey{Cluster: cluster, IP: ip, Port: port}
	if full != nil && !full.Ephemeral {
		if err := a.registerByBeat(c, k, ik, full); err != nil {
			return answer{}, err
		}
	}
	result, err := a.store.Beat(k, ik, full)
	if err != nil {
		return answer{}, err
	}
	if !result.Known {
		return jsonBytes(wire.AppendUnknownReply(nil, result.Interval.Milliseconds())), nil
	}
	return jsonBytes(wire.AppendKnownReply(nil, result.Interval.Milliseconds(), a.switches.Load().LightBeatEnabled)), nil
}

// registerByBeat makes the persistent instance that a document is about, unless
// there is one at that address.
func (a *API) registerByBeat(c *call, k wire.ServiceKey, ik naming.InstanceKey, full *wire.Beat) error {
	r, err := a.store.CheckPersistent(k, naming.Registration{
		InstanceKey: ik, Weight: wire.ClampWeight(full.Weight), Enabled: true, Healthy: true, Metadata: full.Metadata,
	}, false)
	if err != nil {
		return err
	}
	if ephemeral, persistent := a.find(k, r.InstanceKey); ephemeral != nil || persistent != nil {
		return nil
	}
	_, err = a.registerPersistent(c, k, r)
	return err
}
