package naming

import (
	"cmp"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// DefaultApp is the application name of an instance that gives none.
const DefaultApp = "DEFAULT"

// InstanceKey identifies an instance within its service; the parts are compared
// exactly and never glued together (server cases SB-02 and SB-03). The zero
// Cluster means DEFAULT. Every spelling of an IPv6 address is the same key to
// the methods of [Store].
type InstanceKey struct {
	Cluster string
	IP      string
	Port    int
}

// Compare orders keys by cluster, address and port: the order of hosts in every
// list, on every node.
func (k InstanceKey) Compare(o InstanceKey) int {
	if c := strings.Compare(k.Cluster, o.Cluster); c != 0 {
		return c
	}
	if c := strings.Compare(k.IP, o.IP); c != 0 {
		return c
	}
	return cmp.Compare(k.Port, o.Port)
}

// canonical returns the one form of the key under which instances are stored.
func (k InstanceKey) canonical() (InstanceKey, error) {
	ip, err := wire.ParseIP(k.IP)
	if err != nil {
		return k, err
	}
	k.IP = ip
	if k.Cluster == "" {
		k.Cluster = wire.DefaultCluster
	}
	return k, nil
}

// clone returns a key to keep: its text is no part of a request's.
func (k InstanceKey) clone() InstanceKey {
	k.IP = strings.Clone(k.IP)
	if k.Cluster == wire.DefaultCluster {
		k.Cluster = wire.DefaultCluster // all share the constant's
	} else {
		k.Cluster = strings.Clone(k.Cluster)
	}
	return k
}

// valid returns the canonical form of a key that is to become an instance.
func (k InstanceKey) valid() (InstanceKey, error) {
	k, err := k.canonical()
	if err != nil {
		return k, err
	}
	if k.Cluster, err = wire.ParseCluster(k.Cluster); err != nil {
		return k, err
	}
	return k, wire.CheckPort(k.Port)
}

// Registration is what a client registers or an operator sets. The store keeps
// Metadata and never changes it; the caller must not either.
type Registration struct {
	InstanceKey
	// Weight is 0 to 10000; above 0 it counts as at least 0.01.
	Weight  float64
	Enabled bool
	// Healthy is the initial health of a new instance, and ignored for a known
	// one.
	Healthy  bool
	Metadata map[string]string
	// App is the application's name, "" for DEFAULT.
	App string
}

func (r Registration) values() values {
	return values{
		weight: wire.ClampWeight(r.Weight), enabled: r.Enabled,
		metadata: r.Metadata, app: cmp.Or(strings.Clone(r.App), DefaultApp),
	}
}

// Given says which values of an update were named by the operator.
type Given struct {
	Weight, Enabled, Metadata, App bool
}

// Patch changes what is not nil of an instance.
type Patch struct {
	Weight  *float64
	Enabled *bool
	Healthy *bool
	// Metadata replaces the whole map; nil leaves it.
	Metadata map[string]string
	App      *string
}

// Instance is an instance as a revision shows it. It is immutable and shared:
// nobody changes it, Metadata included.
type Instance struct {
	InstanceKey
	// ID is given at the first registration and kept.
	ID      string
	Weight  float64
	Enabled bool
	// Healthy is the real health; a list may report another ([Revision.Select]).
	Healthy bool
	// Ephemeral is true: this version has no other instances.
	Ephemeral bool
	Metadata  map[string]string
	App       string
	// Intervals are the effective times (server case SB-07).
	Intervals wire.Intervals

	record      record
	ownInterval bool // the metadata names a beat interval, valid or not
	live        *liveness
}

// liveness is the soft state of an instance. All revisions of the instance share
// it, so that a beat needs no new one.
type liveness struct {
	seen atomic.Int64  // lease clock at the last sign of life
	wall atomic.Int64  // wall clock then, in Unix milliseconds
	turn atomic.Uint32 // of its timer; timers of earlier turns are void
	// warned says that its odd intervals were logged; the active writer's.
	warned bool
}

// LastBeat is the wall time of the last beat or registration, for display.
func (i *Instance) LastBeat() time.Time { return time.UnixMilli(i.live.wall.Load()) }

// Host returns the instance as a list shows it: with the service name the client
// expects and the reported health.
func (i *Instance) Host(serviceName string, healthy bool) wire.Host {
	return wire.Host{
		IP: i.IP, Port: i.Port, Valid: healthy, Healthy: healthy, InstanceID: i.ID,
		Metadata: i.Metadata, Enabled: i.Enabled, Weight: i.Weight,
		ClusterName: i.Cluster, ServiceName: serviceName, Ephemeral: i.Ephemeral, Intervals: i.Intervals,
	}
}

// newInstance makes the view of a record.
func newInstance(key InstanceKey, id string, r record, healthy bool, live *liveness) *Instance {
	v := r.effective()
	intervals, _ := wire.IntervalsFrom(v.metadata)
	_, ownInterval := v.metadata[wire.MetadataBeatInterval]
	return &Instance{
		InstanceKey: key, ID: id, Weight: v.weight, Enabled: v.enabled, Healthy: healthy, Ephemeral: true,
		Metadata: v.metadata, App: v.app, Intervals: intervals,
		record: r, ownInterval: ownInterval, live: live,
	}
}

// values are the instance's effective values.
func (i *Instance) values() values {
	return values{weight: i.Weight, enabled: i.Enabled, metadata: i.Metadata, app: i.App}
}

// withHealth returns the instance with another health.
func (i *Instance) withHealth(healthy bool) *Instance {
	c := *i
	c.Healthy = healthy
	return &c
}

// sameView says whether no reader could tell the two apart.
func (i *Instance) sameView(o *Instance) bool {
	return i.ID == o.ID && i.Weight == o.Weight && i.Enabled == o.Enabled && i.Healthy == o.Healthy &&
		i.App == o.App && maps.Equal(i.Metadata, o.Metadata)
}
