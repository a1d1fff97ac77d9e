package naming

import (
	"cmp"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Persistent is a persistent instance as the replicated state holds it. Its
// health is none of the state's business but for the first, which Healthy is.
type Persistent struct {
	Registration
	// ID is the instance's id; "" leaves it to [Store.ApplyPersistent].
	ID string
}

// CheckPersistent says whether a persistent instance can be registered or
// updated, and returns what is to be proposed to the replicated state: the
// registration with its key in canonical form, its weight clamped and its
// application named. With mustExist the address must be known as a persistent
// instance in whichever cluster (ErrServiceNotFound, ErrInstanceNotFound), as
// [Store.Update] wants it of ephemeral ones.
func (s *Store) CheckPersistent(k wire.ServiceKey, r Registration, mustExist bool) (Registration, error) {
	key, err := r.check()
	if err != nil {
		return r, err
	}
	if err := checkService(k); err != nil {
		return r, err
	}
	if mustExist {
		revision, ok := s.Lookup(k)
		if !ok {
			return r, updateOfUnknownService(k)
		}
		if !hasAddress(revision.persistent, key.IP, key.Port) {
			return r, instanceNotFound(key, r)
		}
	}
	r.InstanceKey, r.Weight, r.App = key, wire.ClampWeight(r.Weight), cmp.Or(r.App, DefaultApp)
	return r, nil
}

// ApplyPersistent sets a persistent instance that the replicated state decided
// on, creating its service if need be, and returns the instance's id. An id that
// is not given is the known one, or made by the instance's generator; as that is
// a function of the persistent instances there are, applying the same changes in
// the same order makes the same ids. A known instance keeps its health.
func (s *Store) ApplyPersistent(k wire.ServiceKey, p Persistent) (id string, err error) {
	key, err := p.check()
	if err != nil {
		return "", err
	}
	err = s.change(k, true, func(d *draft) error {
		id = d.setPersistent(key, p)
		return nil
	})
	return id, err
}

// RemovePersistent takes out a persistent instance that the replicated state no
// longer has. The service stays. Unknown ones are removed already.
func (s *Store) RemovePersistent(k wire.ServiceKey, key InstanceKey) error {
	key, err := key.valid()
	if err != nil {
		return err
	}
	return s.change(k, false, func(d *draft) error {
		if d == nil {
			return nil
		}
		if i, ok := d.persistents().get(key); ok {
			d.removePersistent(i)
		}
		return nil
	})
}

// SetPersistentHealth records what a probe found and says whether that is news.
// It is soft state of this process: after a restart the instance has its first
// health again. A finding that is no news costs a look-up; one about an instance
// that is gone is dropped.
func (s *Store) SetPersistentHealth(k wire.ServiceKey, key InstanceKey, healthy bool) bool {
	key, err := key.canonical()
	if err != nil {
		return false
	}
	e, ok := s.entry(k)
	if !ok {
		return false
	}
	if i, ok := e.revision.Load().persistent.get(key); !ok || i.Healthy == healthy {
		return false
	}
	return e.setPersistentHealth(key, healthy)
}

func (e *entry) setPersistentHealth(key InstanceKey, healthy bool) (changed bool) {
	_ = e.do(func(d *draft) error { // a dead entry has no instances
		if i, ok := d.persistents().get(key); ok && i.Healthy != healthy {
			d.replacePersistent(i, i.withHealth(healthy))
			changed = true
		}
		return nil
	})
	return changed
}

// SetHealth is an operator's word on the health of the instances at an address,
// of both kinds (Nacos HTTP v1: health). Only a cluster that nothing checks
// takes it: elsewhere, and in an unknown cluster, it is a [wire.BadRequest]. An
// ephemeral instance is healthy again with its next beat. An unknown instance is
// no error; ErrServiceNotFound when the service is.
func (s *Store) SetHealth(k wire.ServiceKey, key InstanceKey, healthy bool) error {
	key, err := key.canonical()
	if err != nil {
		return err
	}
	r, ok := s.Lookup(k)
	if !ok {
		return wire.Refusef(ErrServiceNotFound, "service not found:%s", k.ServiceName)
	}
	if r.ClusterInfo(key.Cluster).Checker.Type() != CheckerNone {
		return wire.BadRequest("health check is still working, service: " + r.grouped)
	}
	s.SetPersistentHealth(k, key, healthy)
	return s.change(k, false, func(d *draft) error {
		if d == nil {
			return nil
		}
		if i, ok := d.ephemeral.get(key); ok && i.Healthy != healthy {
			d.replace(i, i.withHealth(healthy))
		}
		return nil
	})
}
