package naming

import (
	"maps"
	"time"
)

// Record is an instance as nodes exchange it: two registers with a version each,
// and beside them what each node judges for itself.
type Record struct {
	InstanceKey
	// ID is the instance's id, made once where it was first registered.
	ID string
	// Registered is what the client registered.
	Registered Registered
	// Override is what an operator changed.
	Override Override
	// Age is how long ago the instance was last heard.
	Age time.Duration
	// Healthy is what the sender believes.
	Healthy bool
}

// Registered is the client's register: written by registering and
// deregistering.
type Registered struct {
	Version Version
	// Since is the version that began this life of the instance. An override
	// that is not later belonged to an earlier life and has no effect.
	Since Version
	// Gone says that the instance was explicitly deregistered; the other members
	// are then empty.
	Gone     bool
	Weight   float64
	Enabled  bool
	Metadata map[string]string
	App      string
}

// Override is the operator's register. It holds only what differs from the
// client's; a nil member and an absent key leave the client's value. It survives
// repeated registrations and ends with deregistration or expiry.
type Override struct {
	Version Version
	Enabled *bool
	Weight  *float64
	App     *string
	// Metadata are changed keys; nil means that the key is removed.
	Metadata map[string]*string
}

// record is the versioned part of an instance.
type record struct {
	reg Registered
	ovr Override
}

// join merges two records of one instance: of each register the later write.
// The result does not depend on order or repetition, which is all that nodes
// need to agree in the end.
func join(a, b record) record {
	if b.reg.Version.Compare(a.reg.Version) > 0 {
		a.reg = b.reg
	}
	if b.ovr.Version.Compare(a.ovr.Version) > 0 {
		a.ovr = b.ovr
	}
	return a
}

// values are what a reader sees of a record.
type values struct {
	weight   float64
	enabled  bool
	metadata map[string]string
	app      string
}

// effective lays the operator's values over the client's.
func (r record) effective() values {
	v := values{weight: r.reg.Weight, enabled: r.reg.Enabled, metadata: r.reg.Metadata, app: r.reg.App}
	if !r.overridden() {
		return v
	}
	if r.ovr.Weight != nil {
		v.weight = *r.ovr.Weight
	}
	if r.ovr.Enabled != nil {
		v.enabled = *r.ovr.Enabled
	}
	if r.ovr.App != nil {
		v.app = *r.ovr.App
	}
	if len(r.ovr.Metadata) > 0 {
		changed := make(map[string]string, len(v.metadata)+len(r.ovr.Metadata))
		maps.Copy(changed, v.metadata)
		for key, value := range r.ovr.Metadata {
			if value == nil {
				delete(changed, key)
			} else {
				changed[key] = *value
			}
		}
		v.metadata = changed
	}
	return v
}

// overridden says whether the override belongs to this life of the instance.
func (r record) overridden() bool { return r.ovr.Version.Compare(r.reg.Since) > 0 }

// reset returns the register with the values of want where none was given.
func (r Registered) reset(want values, given Given) Registered {
	if !given.Weight {
		r.Weight = want.weight
	}
	if !given.Enabled {
		r.Enabled = want.enabled
	}
	if !given.Metadata {
		r.Metadata = want.metadata
	}
	if !given.App {
		r.App = want.app
	}
	return r
}

// override returns the override that turns reg into want. What is equal is left
// out, so that replacing everything does not freeze what was not changed.
func override(reg Registered, want values) Override {
	var o Override
	if want.enabled != reg.Enabled {
		o.Enabled = &want.enabled
	}
	if want.weight != reg.Weight {
		o.Weight = &want.weight
	}
	if want.app != reg.App {
		o.App = &want.app
	}
	for key, value := range want.metadata {
		if old, ok := reg.Metadata[key]; !ok || old != value {
			o.setMetadata(key, &value)
		}
	}
	for key := range reg.Metadata {
		if _, ok := want.metadata[key]; !ok {
			o.setMetadata(key, nil)
		}
	}
	return o
}

func (o *Override) setMetadata(key string, value *string) {
	if o.Metadata == nil {
		o.Metadata = make(map[string]*string)
	}
	o.Metadata[key] = value
}
