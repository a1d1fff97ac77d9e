package naming

import "time"

// Clean-up of services without instances, as Nacos ships it (Nacos HTTP v1:
// empty service clean-up): the fifth look in a row that finds a service empty
// removes it, an explicitly created one too. Unlike there, one that somebody gave
// settings stays: they are an operator's work, and no client brings them back.
const (
	defaultSweepDelay  = 50 * time.Second
	defaultSweepPeriod = 30 * time.Second
	emptyLooks         = 5
)

// sweep looks at all services.
func (s *Store) sweep() {
	for e := range s.index.Load().values() {
		r := e.revision.Load()
		switch {
		case !r.exists:
			s.retire(e)
			continue
		case r.Len() > 0 || s.keepEmpty || r.service.configured() || len(r.clusters) > 0:
			e.idle = 0
			continue
		}
		if e.idle++; e.idle < emptyLooks {
			continue
		}
		e.idle = 0
		if s.discard != nil && r.service.Explicit {
			s.discard(e.key)
			continue
		}
		err := e.do(func(d *draft) error {
			if d.exists && d.empty() && len(e.gone) == 0 && !d.service.configured() && len(d.clusters) == 0 &&
				(s.discard == nil || !d.service.Explicit) {
				d.erase()
			}
			return nil
		})
		if err == nil {
			s.retire(e)
		}
	}
}

// retire takes the entry of a service that does not exist out of the index,
// unless tombstones still need it.
func (s *Store) retire(e *entry) {
	dead := false
	err := e.do(func(d *draft) error {
		if !d.exists && len(e.gone) == 0 {
			e.dead, dead = true, true
		}
		return nil
	})
	if err == nil && dead {
		s.forget(e)
	}
}
