package naming

import (
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Durable is the part of a service that the replicated state holds. It and all
// it refers to are immutable once it was handed over.
type Durable struct {
	// Info is nil when no call set anything about the service itself.
	Info *ServiceInfo
	// Clusters are those with settings of their own.
	Clusters map[string]ClusterInfo
	// Instances are the persistent ones, with their ids.
	Instances []Persistent
}

// RestoreDurable makes the store hold exactly this much of the replicated state:
// after the state itself was restored from a snapshot. Each service costs one
// revision, however many instances it has. Persistent instances that stay keep
// their health; ephemeral ones are not touched. What is not valid is skipped and
// reported, joined. Nothing else of the state may be applied meanwhile.
func (s *Store) RestoreDurable(all iter.Seq2[wire.ServiceKey, Durable]) error {
	var errs []error
	restored := maps.Collect(all)
	s.expect(maps.Keys(restored))
	for k, durable := range restored {
		var skipped error
		err := s.change(k, true, func(d *draft) error {
			skipped = d.setDurable(durable)
			return nil
		})
		if err = errors.Join(err, skipped); err != nil {
			errs = append(errs, fmt.Errorf("restore %s: %w", k, err))
		}
	}
	for e := range s.index.Load().values() {
		r := e.revision.Load()
		if _, ok := restored[e.key]; ok || !r.hasSettings() && r.persistent.size == 0 {
			continue
		}
		err := s.change(e.key, false, func(d *draft) error {
			if d == nil {
				return nil
			}
			return d.setDurable(Durable{}) // of which nothing can be invalid
		})
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// setDurable replaces the durable part of the service. What is not valid is left
// out and reported.
func (d *draft) setDurable(durable Durable) error {
	var errs []error
	keep := make(map[InstanceKey]struct{}, len(durable.Instances))
	for _, p := range durable.Instances {
		key, err := p.check()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		keep[key] = struct{}{}
		d.setPersistent(key, p)
	}
	for i := range d.base.Persistent() {
		if _, ok := keep[i.InstanceKey]; !ok {
			if i, ok := d.persistents().get(i.InstanceKey); ok {
				d.removePersistent(i)
			}
		}
	}
	d.service, d.clusters = ServiceInfo{}, nil
	d.touched, d.visible = true, true
	if durable.Info != nil {
		if err := durable.Info.check(); err != nil {
			errs = append(errs, err)
		} else {
			d.setService(*durable.Info)
		}
	}
	for name, info := range durable.Clusters {
		name, err := wire.ParseCluster(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		d.setCluster(name, info)
	}
	if !d.hasSettings() {
		d.dropSettings()
	}
	return errors.Join(errs...)
}
