package api

import (
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
)

// beat takes a sign of life. What it is about is named by the request: namespace,
// group and service always, address and cluster by the document if there is one,
// which cannot lead a beat away from the instance in the cluster that the request
// names (SB-06). An instance that is not known is created from the document; without
// one the client is told to register again (SB-05).
func (a *API) beat(c *call) (answer, error) {
	k, err := c.ServiceKey()
	if err != nil {
		return a.malformedBeat(c, err)
	}
	return a.beatOf(c, k)
}

// malformedBeat answers a beat that could not be read.
func (a *API) malformedBeat(c *call, err error) (answer, error) {
	a.store.BeatMalformed(c.beatDocument() != "")
	return answer{}, err
}

// beatDocument is the document of a full beat, "" in a light one.
func (c *call) beatDocument() string {
	if document := c.Get("beat"); document != "null" { // which says that there is none
		return document
	}
	return ""
}

func (a *API) beatOf(c *call, k wire.ServiceKey) (answer, error) {
	port, err := c.Int("port", 0)
	if err != nil {
		return a.malformedBeat(c, err)
	}
	ip, cluster := c.Get("ip"), c.Get("clusterName")
	var full *wire.Beat
	if document := c.beatDocument(); document != "" {
		if full, err = wire.ParseBeat(document); err != nil {
			return a.malformedBeat(c, err)
		}
		ip, port, cluster = full.IP, full.Port, a.clusterOfBeat(k, cluster, full)
	}
	if err := wire.CheckPort(port); err != nil {
		return a.malformedBeat(c, err)
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

// clusterOfBeat is the cluster that a document names, or the request where the
// document names none or the instance is in the request's.
func (a *API) clusterOfBeat(k wire.ServiceKey, requested string, full *wire.Beat) string {
	if full.Cluster == "" || full.Cluster == requested {
		return requested
	}
	if requested != "" {
		if ip, err := wire.ParseIP(full.IP); err == nil {
			ephemeral, persistent := a.find(k, naming.InstanceKey{Cluster: requested, IP: ip, Port: full.Port})
			if ephemeral != nil || persistent != nil {
				return requested
			}
		}
	}
	return full.Cluster
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
