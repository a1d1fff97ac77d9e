package naming

import (
	"math"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// ServiceInfo is what is known of a service besides its clusters and instances.
// Metadata is immutable once it was handed over.
type ServiceInfo struct {
	Metadata map[string]string
	// ProtectThreshold is the share of healthy instances at or below which all
	// are reported healthy; 0 by default.
	ProtectThreshold float64
	Selector         Selector
	// Explicit says that a call set these values, and that the replicated state
	// holds them. A service that only its instances made has none.
	Explicit bool
}

// CheckCreateService says whether a service can be created: a
// [wire.BadRequest], which also is ErrServiceExists when it is there already,
// however it came to be. It is asked before the change is proposed to the
// replicated state.
func (s *Store) CheckCreateService(k wire.ServiceKey, info ServiceInfo) error {
	if err := info.check(); err != nil {
		return err
	}
	if err := checkService(k); err != nil {
		return err
	}
	if r, ok := s.Lookup(k); ok {
		return wire.Refusef(ErrServiceExists, "specified service already exists, serviceName : %s", r.grouped)
	}
	return nil
}

// CheckUpdateService says whether everything about a service but its clusters
// and instances can be replaced. ErrServiceNotFound when there is none.
func (s *Store) CheckUpdateService(k wire.ServiceKey, info ServiceInfo) error {
	if err := info.check(); err != nil {
		return err
	}
	if _, ok := s.Lookup(k); !ok {
		return wire.Refusef(ErrServiceNotFound, "service %s not found!", k.ServiceName)
	}
	return nil
}

// CheckDeleteService says whether there is a service to delete:
// ErrServiceNotFound if not. Instances are no obstacle.
func (s *Store) CheckDeleteService(k wire.ServiceKey) error {
	if _, ok := s.Lookup(k); !ok {
		return wire.Refusef(ErrServiceNotFound, "specified service not exist, serviceName : %s", k.ServiceName)
	}
	return nil
}

// ApplyService sets what the replicated state decided about a service: it
// creates the service or replaces its values. It fails only for names and
// numbers that the checks refuse.
func (s *Store) ApplyService(k wire.ServiceKey, info ServiceInfo) error {
	if err := info.check(); err != nil {
		return err
	}
	return s.change(k, true, func(d *draft) error {
		d.setService(info)
		return nil
	})
}

// RemoveService removes a service with its clusters and all instances; clients
// that still beat re-create it (Nacos HTTP v1: delete service). An unknown one is
// removed already.
func (s *Store) RemoveService(k wire.ServiceKey) error {
	return s.change(k, false, func(d *draft) error {
		if d != nil && d.exists {
			s.metrics.deregistrations.Add(float64(d.ephemeral.size))
			d.erase()
		}
		return nil
	})
}

// ReleaseService takes away what the replicated state no longer holds of a
// service and its clusters. The service itself goes unless it has instances; so
// one that was registered into while its removal as an empty one was decided
// stays (Options.Discard).
func (s *Store) ReleaseService(k wire.ServiceKey) error {
	return s.change(k, false, func(d *draft) error {
		if d != nil && d.exists {
			d.dropSettings()
		}
		return nil
	})
}

// configured says whether somebody gave the service values of its own.
func (i ServiceInfo) configured() bool {
	return len(i.Metadata) > 0 || i.ProtectThreshold != 0 || i.Selector.Type == SelectorLabel
}

func (i ServiceInfo) check() error {
	if math.IsNaN(i.ProtectThreshold) || math.IsInf(i.ProtectThreshold, 0) {
		return wire.BadRequest("protectThreshold is not a finite number")
	}
	return nil
}
