package state

import (
	"encoding/json"
	"maps"
	"net"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Tags of the commands about instances.
const (
	tagRegisterInstance   = "instance.register"
	tagUpdateInstance     = "instance.update"
	tagPatchInstance      = "instance.patch"
	tagPatchMetadata      = "instance.metadata"
	tagDeregisterInstance = "instance.deregister"
)

// RegisterInstance registers a persistent instance. A known one keeps its ID and
// its first health and gets all other values anew (Nacos HTTP v1: register). An
// empty ID is made by the generator that the metadata names.
type RegisterInstance struct{ Instance }

func (*RegisterInstance) tag() string { return tagRegisterInstance }

func (c *RegisterInstance) check() error { return c.Instance.check() }

func (c *RegisterInstance) apply(v *View) (Result, Change, error) {
	return v.putInstance(c.Instance)
}

// UpdateInstance replaces all values of a persistent instance but its ID and
// first health. With MustExist its address must be known in whichever cluster of
// the service ([ErrInstanceNotFound]); otherwise it is registered.
type UpdateInstance struct {
	Instance
	MustExist bool `json:"mustExist,omitempty"`
}

func (*UpdateInstance) tag() string { return tagUpdateInstance }

func (c *UpdateInstance) check() error { return c.Instance.check() }

func (c *UpdateInstance) apply(v *View) (Result, Change, error) {
	if c.MustExist && !v.hasAddress(c.Service, c.InstanceKey) {
		return Result{}, Change{}, wire.Refusef(ErrInstanceNotFound, "instance not exist: %s:unknown:%s_%s_%t_false_%s",
			net.JoinHostPort(c.IP, strconv.Itoa(c.Port)), c.Cluster, javaFloat(c.Weight), c.Healthy, c.Cluster)
	}
	return v.putInstance(c.Instance)
}

// PatchInstance changes what is not nil of a persistent instance, which must be
// there ([ErrInstanceNotFound]).
type PatchInstance struct {
	Service wire.ServiceKey `json:"service"`
	InstanceKey
	Weight  *float64 `json:"weight,omitempty"`
	Enabled *bool    `json:"enabled,omitempty"`
	Healthy *bool    `json:"healthy,omitempty"`
	App     *string  `json:"app,omitempty"`
	// Metadata replaces the whole map.
	Metadata *map[string]string `json:"metadata,omitempty"`
}

func (*PatchInstance) tag() string { return tagPatchInstance }

func (c *PatchInstance) check() error {
	if err := checkInstanceKey(c.Service, c.InstanceKey); err != nil || c.Weight == nil {
		return err
	}
	return wire.CheckWeight(*c.Weight)
}

func (c *PatchInstance) apply(v *View) (Result, Change, error) {
	i, ok := v.Instance(c.Service, c.InstanceKey)
	if !ok {
		return Result{}, Change{}, wire.Refusef(ErrInstanceNotFound, "instance not found")
	}
	old := i
	set(&i.Weight, c.Weight)
	set(&i.Enabled, c.Enabled)
	set(&i.Healthy, c.Healthy)
	set(&i.App, c.App)
	set(&i.Metadata, c.Metadata)
	return v.replaceInstances(c.Service, []Instance{old}, []Instance{i})
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// PatchMetadata sets and removes metadata keys of the given persistent instances
// of a service, or of all. Unknown ones are passed over; the result says which
// were found.
type PatchMetadata struct {
	Service   wire.ServiceKey   `json:"service"`
	Instances []InstanceKey     `json:"instances,omitempty"`
	All       bool              `json:"all,omitempty"`
	Set       map[string]string `json:"set,omitempty"`
	Remove    []string          `json:"remove,omitempty"`
}

func (*PatchMetadata) tag() string { return tagPatchMetadata }

func (c *PatchMetadata) check() error { return checkService(c.Service) }

func (c *PatchMetadata) apply(v *View) (Result, Change, error) {
	var before, after []Instance
	patch := func(i Instance) {
		before = append(before, i)
		metadata := maps.Clone(i.Metadata)
		if metadata == nil {
			metadata = make(map[string]string, len(c.Set))
		}
		maps.Copy(metadata, c.Set)
		for _, key := range c.Remove {
			delete(metadata, key)
		}
		i.Metadata = metadata
		after = append(after, i)
	}
	if c.All {
		for i := range v.Instances(c.Service) {
			patch(*i)
		}
	}
	seen := make(map[InstanceKey]bool, len(c.Instances))
	for _, key := range c.Instances {
		if i, ok := v.Instance(c.Service, key); ok && !c.All && !seen[key] {
			seen[key] = true
			patch(i)
		}
	}
	return v.replaceInstances(c.Service, before, after)
}

// DeregisterInstance removes a persistent instance. An unknown one is no error;
// the result says whether there was one.
type DeregisterInstance struct {
	Service wire.ServiceKey `json:"service"`
	InstanceKey
}

func (*DeregisterInstance) tag() string { return tagDeregisterInstance }

func (c *DeregisterInstance) check() error { return checkInstanceKey(c.Service, c.InstanceKey) }

func (c *DeregisterInstance) apply(v *View) (Result, Change, error) {
	i, ok := v.Instance(c.Service, c.InstanceKey)
	if !ok {
		return Result{}, Change{}, nil
	}
	remove(&v.instances, instanceKey(c.Service, c.InstanceKey))
	return Result{Changed: true, Instances: []Instance{i}},
		Change{Kind: ChangeInstances, Service: c.Service, Instances: []InstanceKey{c.InstanceKey}}, nil
}

func (i *Instance) check() error {
	if err := checkInstanceKey(i.Service, i.InstanceKey); err != nil {
		return err
	}
	return wire.CheckWeight(i.Weight)
}

func checkInstanceKey(k wire.ServiceKey, i InstanceKey) error {
	if err := checkService(k); err != nil {
		return err
	}
	if i.IP == "" {
		return wire.BadRequest("Param 'ip' is required.")
	}
	if err := checkKey("an instance", i.IP, i.Cluster); err != nil {
		return err
	}
	if cluster, err := wire.ParseCluster(i.Cluster); err != nil || cluster != i.Cluster {
		return wire.BadRequestf("cluster name can only have these characters: 0-9a-zA-Z-, current: %s", wire.Excerpt(i.Cluster))
	}
	return wire.CheckPort(i.Port)
}

// putInstance stores an instance; a known one keeps its ID and first health.
func (v *View) putInstance(i Instance) (Result, Change, error) {
	var before []Instance
	if old, ok := v.Instance(i.Service, i.InstanceKey); ok {
		i.ID, i.Healthy = old.ID, old.Healthy
		before = []Instance{old}
	} else if i.ID == "" {
		i.ID = v.newID(i)
	}
	return v.replaceInstances(i.Service, before, []Instance{i})
}

// replaceInstances stores instances of a service in the place of others.
func (v *View) replaceInstances(k wire.ServiceKey, before, after []Instance) (Result, Change, error) {
	result, change := Result{Instances: after}, Change{Kind: ChangeInstances, Service: k}
	for n := range after {
		i := after[n]
		if n < len(before) && before[n].same(i) {
			continue
		}
		put(&v.instances, instanceKey(k, i.InstanceKey), &i)
		result.Changed = true
		change.Instances = append(change.Instances, i.InstanceKey)
	}
	return result, change, nil
}

func (i *Instance) same(o Instance) bool {
	return i.ID == o.ID && i.Weight == o.Weight && i.Enabled == o.Enabled && i.Healthy == o.Healthy && i.App == o.App &&
		maps.Equal(i.Metadata, o.Metadata)
}

func (v *View) hasAddress(k wire.ServiceKey, i InstanceKey) bool {
	if _, ok := v.Instance(k, i); ok {
		return true
	}
	for other := range v.Instances(k) {
		if other.IP == i.IP && other.Port == i.Port {
			return true
		}
	}
	return false
}

// newID makes the ID of a new instance: of its address, or with the generator
// "snowflake" the smallest number that no persistent instance of the service has
// (Nacos HTTP v1: instance id).
func (v *View) newID(i Instance) string {
	if !strings.EqualFold(i.Metadata[wire.MetadataIDGenerator], "snowflake") {
		return wire.InstanceID(i.IP, i.Port, i.Cluster, i.Service.ServiceName.String())
	}
	used := make(map[string]struct{})
	for other := range v.Instances(i.Service) {
		used[other.ID] = struct{}{}
	}
	for n := uint64(0); ; n++ {
		id := strconv.FormatUint(n, 10)
		if _, taken := used[id]; !taken {
			return id
		}
	}
}

// javaFloat is a number as Nacos prints it, with a fraction.
func javaFloat(f float64) string {
	text, err := json.Marshal(wire.Float(f))
	if err != nil {
		return "NaN"
	}
	return string(text)
}
