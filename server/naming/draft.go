package naming

import (
	"net"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// draft is the next revision of a service while a batch of changes is applied to
// it. Only the active writer has one. A change that returns an error must not
// have changed the draft.
type draft struct {
	entry     *entry
	store     *Store
	base      *Revision
	exists    bool
	service   ServiceInfo
	clusters  map[string]ClusterInfo // the base's until cloned by a change
	ephemeral *edit[InstanceKey, *Instance]
	healthy   int // of the ephemeral ones
	// persistent is nil until one of them changes; few batches do that.
	persistent        *edit[InstanceKey, *Instance]
	healthyPersistent int

	touched  bool // there is something to publish
	visible  bool // and a reader can see it
	recorded bool // and a snapshot would differ
	decided  bool // by somebody who does not say it again, as a client does with its beats
	timers   []timer
	flips    int         // changes of health, for the metrics
	odd      []*Instance // to warn of
}

func newDraft(e *entry) *draft {
	base := e.revision.Load()
	return &draft{
		entry: e, store: e.store, base: base, exists: base.exists, service: base.service, clusters: base.clusters,
		ephemeral: base.ephemeral.edit(), healthy: base.healthy, healthyPersistent: base.healthyPersistent,
	}
}

// publish makes the draft the current revision and says whether readers can see
// a difference.
func (d *draft) publish() bool {
	if !d.touched {
		return false
	}
	r := &Revision{
		key: d.base.key, grouped: d.base.grouped, number: d.base.number, exists: d.exists,
		service: d.service, clusters: d.clusters, shared: d.base.shared,
		ephemeral: d.ephemeral.done(), healthy: d.healthy,
		persistent: d.base.persistent, healthyPersistent: d.healthyPersistent,
	}
	if d.persistent != nil {
		r.persistent = d.persistent.done()
	}
	if d.visible {
		r.number = d.store.revisions.Add(1)
		r.shared = &sharedAnswers{}
	}
	d.store.count(d.base, r)
	d.entry.revision.Store(r)
	if d.recorded {
		d.store.recorded.Add(1) // after publishing: who reads the number first finds the change
	}
	if d.decided {
		d.store.signalDecision()
	}
	d.store.expiry.schedule(d.timers)
	d.store.metrics.flips.Add(float64(d.flips))
	return d.visible
}

func (d *draft) now() time.Duration { return d.store.lease.now() }

// insert adds an ephemeral instance that is not there.
func (d *draft) insert(i *Instance) {
	d.exists, d.touched, d.visible, d.recorded = true, true, true, true
	d.ephemeral.put(i.InstanceKey, i)
	d.entry.ids.take(i.ID)
	if i.Healthy {
		d.healthy++
	}
	d.startTimer(i)
	d.warn(i)
}

// replace puts i in the place of old, which has the same key and liveness.
func (d *draft) replace(old, i *Instance) {
	d.touched, d.recorded = true, true
	d.visible = d.visible || !old.sameView(i)
	d.ephemeral.put(i.InstanceKey, i)
	if old.Healthy != i.Healthy {
		d.flips++
		if i.Healthy {
			d.healthy++
		} else {
			d.healthy--
		}
	}
	if old.Intervals != i.Intervals || !old.Healthy && i.Healthy {
		d.startTimer(i) // the running one may be too late
	}
	d.warn(i)
}

// warn notes an instance whose intervals are not what its owner thinks, once
// (server case SB-07).
func (d *draft) warn(i *Instance) {
	if !i.live.warned && oddIntervals(i) {
		i.live.warned = true
		d.odd = append(d.odd, i)
	}
}

// remove takes out an instance that is there.
func (d *draft) remove(i *Instance) {
	d.touched, d.visible, d.recorded = true, true, true
	d.ephemeral.remove(i.InstanceKey)
	if i.Healthy {
		d.healthy--
	}
	d.entry.ids.free(i.ID)
}

// erase makes the service unknown, with everything it has.
func (d *draft) erase() {
	d.decided = d.decided || d.ephemeral.size > 0
	d.service, d.clusters, d.exists, d.healthy, d.healthyPersistent = ServiceInfo{}, nil, false, 0, 0
	d.ephemeral = newOrdered[InstanceKey, *Instance](InstanceKey.Compare).edit()
	d.persistent = newOrdered[InstanceKey, *Instance](InstanceKey.Compare).edit()
	d.entry.gone, d.entry.ids, d.entry.persistentIDs = nil, idNumbers{}, idNumbers{}
	d.touched, d.visible, d.recorded = true, true, true
}

// startTimer gives the instance a new timer, which voids the one it has.
func (d *draft) startTimer(i *Instance) {
	d.timers = append(d.timers, timer{
		entry: d.entry, key: i.InstanceKey, live: i.live, turn: i.live.turn.Add(1), due: d.store.lease.due(i),
	})
}

// register is a client's registration: it replaces the client's register and
// keeps the operator's, the id and the health of a known instance.
func (d *draft) register(key InstanceKey, r Registration) {
	v := r.values()
	reg := Registered{Weight: v.weight, Enabled: v.enabled, Metadata: v.metadata, App: v.app}
	if old, ok := d.ephemeral.get(key); ok {
		reg.Version, reg.Since = d.store.clock.next(old.record.reg.Version), old.record.reg.Since
		d.store.lease.touch(old.live)
		d.replace(old, newInstance(key, old.ID, record{reg: reg, ovr: old.record.ovr}, old.Healthy, old.live))
		return
	}
	reg.Version = d.store.clock.next(d.entry.gone[key].record.reg.Version)
	reg.Since = reg.Version
	delete(d.entry.gone, key)
	live := new(liveness)
	d.store.lease.touch(live)
	key = key.clone()
	d.insert(newInstance(key, d.newID(key, v.metadata), record{reg: reg}, r.Healthy, live))
}

// newID makes the id of an instance that is registered for the first time.
func (d *draft) newID(key InstanceKey, metadata map[string]string) string {
	if generatesNumbers(metadata) {
		return d.entry.ids.next(d.ephemeral.values())
	}
	return wire.InstanceID(key.IP, key.Port, key.Cluster, d.entry.grouped)
}

// update is an operator's replacement of all values: what was not given is reset
// in the client's register, so that nothing is kept that the operator did not
// name.
func (d *draft) update(old *Instance, want values, given Given) {
	rec := old.record
	if given != (Given{true, true, true, true}) {
		rec.reg = rec.reg.reset(want, given)
		rec.reg.Version = d.store.clock.next(rec.reg.Version)
	}
	d.overrideRecord(old, rec, want, old.Healthy)
}

// override is an operator's change: what differs from the client's values goes
// into the operator's register.
func (d *draft) override(old *Instance, want values, healthy bool) {
	d.overrideRecord(old, old.record, want, healthy)
}

func (d *draft) overrideRecord(old *Instance, rec record, want values, healthy bool) {
	stored := rec.ovr.Version
	if stored.Compare(rec.reg.Since) < 0 {
		stored = rec.reg.Since
	}
	rec.ovr = override(rec.reg, want)
	rec.ovr.Version = d.store.clock.next(stored)
	d.decided = true
	d.replace(old, newInstance(old.InstanceKey, old.ID, rec, healthy, old.live))
}

// deregister takes an instance out for good and leaves a tombstone for two of
// its beat intervals.
func (d *draft) deregister(i *Instance) {
	rec := record{ovr: i.record.ovr, reg: Registered{Gone: true, Version: d.store.clock.next(i.record.reg.Version)}}
	d.decided = true
	d.remove(i)
	d.bury(i.InstanceKey, rec, 2*i.Intervals.Beat)
}

// longestTombstone bounds what instances with very long intervals leave behind.
const longestTombstone = 10 * time.Minute

func (d *draft) bury(key InstanceKey, rec record, keep time.Duration) {
	if d.entry.gone == nil {
		d.entry.gone = make(map[InstanceKey]tombstone)
	}
	until := d.now() + min(keep, longestTombstone)
	key = key.clone()
	d.entry.gone[key] = tombstone{record: rec, until: until}
	d.timers = append(d.timers, timer{entry: d.entry, key: key, due: until})
	d.touched = true // so that the timer is started
}

// buried says whether a beat for key comes too soon after its deregistration.
func (d *draft) buried(key InstanceKey) bool {
	t, ok := d.entry.gone[key]
	return ok && d.now() <= t.until
}

// dig removes a tombstone whose time has come.
func (d *draft) dig(key InstanceKey) {
	if t, ok := d.entry.gone[key]; ok && d.now() >= t.until {
		delete(d.entry.gone, key)
	}
}

// hasAddress says whether any cluster has one of the instances at the address.
func hasAddress(instances *ordered[InstanceKey, *Instance], ip string, port int) bool {
	for cluster := range clustersOf(instances) {
		if _, ok := instances.get(InstanceKey{Cluster: cluster, IP: ip, Port: port}); ok {
			return true
		}
	}
	return false
}

// merge joins a record of a peer into the service.
func (d *draft) merge(key InstanceKey, r Record) {
	old, alive := d.ephemeral.get(key)
	grave, dead := d.entry.gone[key]
	known := grave.record
	if alive {
		known = old.record
	}
	joined := join(known, record{reg: r.Registered, ovr: r.Override})
	seen := d.now() - max(r.Age, 0)

	switch {
	case joined.reg.Gone:
		if alive {
			d.remove(old)
		}
		if !dead || joined.reg.Version != grave.record.reg.Version {
			d.bury(key, joined, 2*wire.DefaultBeatInterval)
		}
	case alive:
		fresh := d.store.lease.raise(old.live, seen, r.Age)
		d.replace(old, newInstance(key, old.ID, joined, old.Healthy || fresh && r.Healthy, old.live))
	default:
		delete(d.entry.gone, key)
		live := new(liveness)
		live.seen.Store(int64(seen) - 1) // so that raise takes it
		d.store.lease.raise(live, seen, r.Age)
		id := r.ID
		if id == "" {
			id = d.newID(key, joined.effective().metadata)
		}
		d.insert(newInstance(key.clone(), id, joined, r.Healthy, live))
	}
}

func instanceNotFound(key InstanceKey, r Registration) error {
	weight, _ := wire.Float(r.Weight).MarshalJSON() // was checked to be finite
	return wire.Refusef(ErrInstanceNotFound, "instance not exist: %s:unknown:%s_%s_%t_false_%s",
		net.JoinHostPort(key.IP, strconv.Itoa(key.Port)), key.Cluster, weight, r.Healthy, key.Cluster)
}
