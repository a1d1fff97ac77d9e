package naming

import (
	"fmt"
	"math"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// ServiceInfo is what is known of a service besides its instances. Metadata is
// immutable once it was handed over.
type ServiceInfo struct {
	Metadata map[string]string
	// ProtectThreshold is the share of healthy instances at or below which all
	// are reported healthy; 0 by default.
	ProtectThreshold float64
	Selector         Selector
	// Explicit says that the service was created by a call and not only by its
	// first instance.
	Explicit bool
}

// CreateService creates a service without instances. A service that is there
// already, however it came to be, is ErrServiceExists.
func (s *Store) CreateService(k wire.ServiceKey, info ServiceInfo) error {
	if err := info.check(); err != nil {
		return err
	}
	return s.change(k, true, func(d *draft) error {
		if d.exists {
			return refuse(ErrServiceExists, "specified service already exists, serviceName : "+d.entry.grouped)
		}
		info.Explicit = true
		d.setService(info)
		return nil
	})
}

// UpdateService replaces everything about a service but its instances.
// ErrServiceNotFound when there is none.
func (s *Store) UpdateService(k wire.ServiceKey, info ServiceInfo) error {
	if err := info.check(); err != nil {
		return err
	}
	return s.change(k, false, func(d *draft) error {
		if d == nil || !d.exists {
			return refuse(ErrServiceNotFound, fmt.Sprintf("service %s not found!", k.ServiceName))
		}
		info.Explicit = d.service.Explicit
		d.setService(info)
		return nil
	})
}

// DeleteService removes a service with its instances; clients that still beat
// re-create it (Nacos HTTP v1: delete service). ErrServiceNotFound when there is
// none.
func (s *Store) DeleteService(k wire.ServiceKey) error {
	return s.change(k, false, func(d *draft) error {
		if d == nil || !d.exists {
			return refuse(ErrServiceNotFound, "specified service not exist, serviceName : "+k.ServiceName.String())
		}
		d.erase()
		return nil
	})
}

func (i ServiceInfo) check() error {
	if math.IsNaN(i.ProtectThreshold) || math.IsInf(i.ProtectThreshold, 0) {
		return wire.BadRequest("protectThreshold is not a finite number")
	}
	return nil
}
