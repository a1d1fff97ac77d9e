package naming

import (
	"cmp"
	"maps"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// persistents are the persistent instances as they are so far, to look at.
func (d *draft) persistents() *ordered[InstanceKey, *Instance] {
	if d.persistent != nil {
		return &d.persistent.ordered
	}
	return d.base.persistent
}

// editPersistents are the persistent instances, to change.
func (d *draft) editPersistents() *edit[InstanceKey, *Instance] {
	if d.persistent == nil {
		d.persistent = d.base.persistent.edit()
	}
	return d.persistent
}

// setPersistent puts a persistent instance in, over the one that may be there,
// and returns its id.
func (d *draft) setPersistent(key InstanceKey, p Persistent) string {
	old, known := d.persistents().get(key)
	id, healthy, live := p.ID, p.Healthy, new(liveness)
	if known {
		key, id, healthy, live = old.InstanceKey, cmp.Or(id, old.ID), old.Healthy, old.live
	} else {
		key = key.clone()
	}
	switch {
	case id != "":
		id = strings.Clone(id)
	case generatesNumbers(p.Metadata):
		id = d.entry.persistentIDs.next(d.persistents().values())
	default:
		id = wire.InstanceID(key.IP, key.Port, key.Cluster, d.entry.grouped)
	}
	v := p.values()
	intervals, _ := wire.IntervalsFrom(v.metadata)
	_, ownInterval := v.metadata[wire.MetadataBeatInterval]
	d.store.lease.touch(live)
	i := &Instance{
		InstanceKey: key, ID: id, Weight: v.weight, Enabled: v.enabled, Healthy: healthy,
		Metadata: v.metadata, App: v.app, Intervals: intervals, ownInterval: ownInterval, live: live,
	}
	if known {
		d.replacePersistent(old, i)
		return id
	}
	d.exists, d.touched, d.visible = true, true, true
	d.editPersistents().put(key, i)
	d.entry.persistentIDs.take(id)
	if healthy {
		d.healthyPersistent++
	}
	return id
}

// replacePersistent puts i in the place of old, which has the same key.
func (d *draft) replacePersistent(old, i *Instance) {
	if old.sameView(i) {
		return
	}
	d.touched, d.visible = true, true
	d.editPersistents().put(i.InstanceKey, i)
	if old.ID != i.ID {
		d.entry.persistentIDs.free(old.ID)
		d.entry.persistentIDs.take(i.ID)
	}
	if old.Healthy != i.Healthy {
		d.flips++
		if i.Healthy {
			d.healthyPersistent++
		} else {
			d.healthyPersistent--
		}
	}
}

// removePersistent takes out a persistent instance that is there.
func (d *draft) removePersistent(i *Instance) {
	d.touched, d.visible = true, true
	d.editPersistents().remove(i.InstanceKey)
	d.entry.persistentIDs.free(i.ID)
	if i.Healthy {
		d.healthyPersistent--
	}
}

// setService gives the service values of its own.
func (d *draft) setService(info ServiceInfo) {
	info.Explicit = true
	d.service = info
	d.exists, d.touched, d.visible = true, true, true
}

// setCluster gives a cluster settings of its own.
func (d *draft) setCluster(name string, info ClusterInfo) {
	clusters := make(map[string]ClusterInfo, len(d.clusters)+1)
	maps.Copy(clusters, d.clusters)
	clusters[strings.Clone(name)] = info
	d.clusters = clusters
	d.exists, d.touched, d.visible = true, true, true
}

// dropSettings leaves of the service what its instances make, which is nothing
// if there are none.
func (d *draft) dropSettings() {
	if d.empty() {
		gone := d.entry.gone // a late beat must still not bring those back
		d.erase()
		d.entry.gone = gone
		return
	}
	d.service, d.clusters = ServiceInfo{}, nil
	d.touched, d.visible = true, true
}

// empty says whether the service has no instances.
func (d *draft) empty() bool { return d.ephemeral.size == 0 && d.persistents().size == 0 }

// hasSettings is [Revision.hasSettings] of what the draft will be.
func (d *draft) hasSettings() bool { return d.service.Explicit || len(d.clusters) > 0 }
