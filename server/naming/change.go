package naming

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Register is a client's registration of an ephemeral instance (POST instance).
// It creates service and instance; registering a known instance replaces what the client registered
// before, keeps its id, its health and what an operator overrode, and counts as
// a beat. A [wire.BadRequest] changes nothing.
func (s *Store) Register(k wire.ServiceKey, r Registration) error {
	key, err := r.check()
	if err != nil {
		return err
	}
	err = s.change(k, true, func(d *draft) error {
		d.register(key, r)
		return nil
	})
	if err == nil {
		s.metrics.registrations.Inc()
	}
	return err
}

func (r Registration) check() (InstanceKey, error) {
	key, err := r.InstanceKey.valid()
	if err != nil {
		return key, err
	}
	return key, wire.CheckWeight(r.Weight)
}

// Update is an operator's (PUT instance). It replaces all values of an instance;
// health is kept, and it counts as a beat. What was given becomes the operator's
// override and outlives the client's next registration; what was not takes r's
// value, a default, as if the client had registered it, and ends with that. With
// mustExist the address must be known in whichever cluster (ErrServiceNotFound,
// ErrInstanceNotFound); an update that names another cluster adds an instance
// there. Without it what is unknown is registered.
func (s *Store) Update(k wire.ServiceKey, r Registration, given Given, mustExist bool) error {
	key, err := r.check()
	if err != nil {
		return err
	}
	return s.change(k, !mustExist, func(d *draft) error {
		if mustExist && (d == nil || !d.exists) {
			return updateOfUnknownService(k)
		}
		old, ok := d.ephemeral.get(key)
		switch {
		case ok:
			s.lease.touch(old.live)
			d.update(old, r.values(), given)
		case mustExist && !hasAddress(&d.ephemeral.ordered, key.IP, key.Port):
			return instanceNotFound(key, r)
		default:
			d.register(key, r)
			s.metrics.registrations.Inc()
		}
		return nil
	})
}

// Patch changes single values of an ephemeral instance (PATCH instance) as an
// operator's override, and counts as a beat. ErrInstanceNotFound when it is
// unknown; whether a persistent one comes first is [Revision.Find]'s to say.
func (s *Store) Patch(k wire.ServiceKey, key InstanceKey, p Patch) error {
	key, err := key.canonical()
	if err != nil {
		return err
	}
	if p.Weight != nil {
		if err := wire.CheckWeight(*p.Weight); err != nil {
			return err
		}
	}
	return s.change(k, false, func(d *draft) error {
		var old *Instance
		ok := false
		if d != nil {
			old, ok = d.ephemeral.get(key)
		}
		if !ok {
			return wire.Refusef(ErrInstanceNotFound, "instance not found")
		}
		want, healthy := old.values(), old.Healthy
		if p.Weight != nil {
			want.weight = wire.ClampWeight(*p.Weight)
		}
		if p.Enabled != nil {
			want.enabled = *p.Enabled
		}
		if p.App != nil {
			want.app = *p.App
		}
		if p.Metadata != nil {
			want.metadata = p.Metadata
		}
		if p.Healthy != nil {
			healthy = *p.Healthy
		}
		s.lease.touch(old.live)
		d.override(old, want, healthy)
		return nil
	})
}

func updateOfUnknownService(k wire.ServiceKey) error {
	return wire.Refusef(ErrServiceNotFound,
		"service not found, namespace: %s, service: %s", wire.Excerpt(k.Namespace), k.ServiceName)
}

// PatchMetadata sets and removes metadata keys of the given ephemeral instances,
// or of all when keys is nil, and returns those it found, in the order given and
// each once. Unknown ones, or an unknown service, are no error.
func (s *Store) PatchMetadata(k wire.ServiceKey, keys []InstanceKey, set map[string]string, remove []string) []InstanceKey {
	var found []InstanceKey
	patch := func(d *draft, i *Instance) {
		want := i.values()
		want.metadata = maps.Clone(want.metadata)
		if want.metadata == nil {
			want.metadata = make(map[string]string, len(set))
		}
		maps.Copy(want.metadata, set)
		for _, key := range remove {
			delete(want.metadata, key)
		}
		d.override(i, want, i.Healthy)
		found = append(found, i.InstanceKey)
	}
	err := s.change(k, false, func(d *draft) error {
		if d == nil {
			return ErrServiceNotFound
		}
		if keys == nil {
			for i := range d.base.Ephemeral() {
				if i, ok := d.ephemeral.get(i.InstanceKey); ok {
					patch(d, i)
				}
			}
			return nil
		}
		seen := make(map[InstanceKey]bool, len(keys))
		for _, key := range keys {
			key, err := key.canonical()
			if err != nil || seen[key] {
				continue
			}
			seen[key] = true
			if i, ok := d.ephemeral.get(key); ok {
				patch(d, i)
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}

// Deregister takes an ephemeral instance out (DELETE instance). For two of its beat
// intervals a late beat does not bring it back (client case 8); registering
// does. An unknown service or instance is no error.
func (s *Store) Deregister(k wire.ServiceKey, key InstanceKey) error {
	key, err := key.valid()
	if err != nil {
		return err
	}
	return s.change(k, false, func(d *draft) error {
		if d == nil {
			return nil
		}
		if i, ok := d.ephemeral.get(key); ok {
			d.deregister(i)
			s.metrics.deregistrations.Inc()
		}
		return nil
	})
}

// Merge joins records of a peer, or of a snapshot, into a service, through the
// same door as a client's change. The result does not depend on order or
// repetition. Records that are not valid are skipped and reported, joined.
func (s *Store) Merge(k wire.ServiceKey, records ...Record) error {
	var errs []error
	type validRecord struct {
		key InstanceKey
		Record
	}
	valid := make([]validRecord, 0, len(records))
	for _, r := range records {
		key, err := r.check()
		if err != nil {
			errs = append(errs, fmt.Errorf("merge %s: %w", k, err))
			continue
		}
		if !s.clock.observe(r.Registered.Version) || !s.clock.observe(r.Override.Version) {
			s.warnings.clockAhead(k, max(r.Registered.Version.Node, r.Override.Version.Node))
		}
		valid = append(valid, validRecord{key, r})
	}
	if len(valid) > 0 {
		errs = append(errs, s.change(k, true, func(d *draft) error {
			for _, r := range valid {
				d.merge(r.key, r.Record)
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}

func (r Record) check() (InstanceKey, error) {
	key, err := r.InstanceKey.valid()
	switch {
	case err != nil:
		return key, err
	case r.Registered.Version == Version{}:
		return key, wire.BadRequest("a record without a version")
	case max(r.Registered.Version.Clock, r.Registered.Since.Clock, r.Override.Version.Clock) > maxClock:
		return key, wire.BadRequest("a record with a version past all time")
	case r.Override.Weight != nil:
		err = wire.CheckWeight(*r.Override.Weight)
	}
	return key, errors.Join(err, wire.CheckWeight(r.Registered.Weight))
}

// Records walks a service's ephemeral instances as records to be merged elsewhere.
// Tombstones are not among them.
func (s *Store) Records(k wire.ServiceKey) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		r, ok := s.Lookup(k)
		if !ok {
			return
		}
		for i := range r.Ephemeral() {
			age := max(0, s.lease.now()-time.Duration(i.live.seen.Load()))
			if !yield(Record{
				InstanceKey: i.InstanceKey, ID: i.ID, Registered: i.record.reg, Override: i.record.ovr,
				Age: age, Healthy: i.Healthy,
			}) {
				return
			}
		}
	}
}
