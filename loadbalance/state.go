package loadbalance

import (
	"iter"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// state is what the balancer keeps about one service.
type state struct {
	balancer *LoadBalancer
	id       registry.ServiceID

	view atomic.Pointer[view]
	// version moves when the view is old for another reason than its list: a probe
	// or an ejection.
	version atomic.Uint64
	// used says that someone chose since the last sweep, called since the last
	// round of probes.
	used, called atomic.Bool
	// last is what same-instance-preference prefers.
	last   atomic.Pointer[endpoint]
	budget budget
	// asked is when an unknown service was asked for last, by the balancer's clock.
	asked atomic.Int64

	// mu lets one caller build, and guards what follows.
	mu        sync.Mutex
	endpoints map[registry.Key]*endpoint
	checker   *checker
	retired   bool // swept: nothing may be started for it any more

	known bool // has instances; guarded by states.mu
}

// adopt fills in what is remembered of the instances of a list and forgets the
// others. The state's lock is held.
func (s *state) adopt(known []*registry.Instance, into []*endpoint, now int64) {
	first := s.endpoints == nil
	next := make(map[registry.Key]*endpoint, len(known))
	for n, i := range known {
		key := i.Key()
		e := s.endpoints[key]
		if e == nil {
			e = newEndpoint(s, i)
			if !first {
				e.joined = now
			}
		}
		next[key], into[n] = e, e
	}
	for key, e := range s.endpoints {
		if next[key] == nil {
			s.balancer.stats.forget(e)
		}
	}
	s.endpoints = next
	if len(known) == 0 {
		s.endpoints = nil // whoever comes next is the first again
	}
}

// retire ends what runs for a service that is called no more.
func (s *state) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
	if s.checker != nil {
		s.checker.stop()
		s.checker = nil
	}
	for _, e := range s.endpoints {
		s.balancer.stats.forget(e)
	}
	s.balancer.stats.forgetService(s.id)
}

const (
	// sweepEvery is how many services a balancer takes up before it asks which are
	// still in use.
	sweepEvery = 256
	// MaxUnknownServices is for how many names without instances a balancer asks
	// its discovery at a time. Names may come from outside, as behind a gateway
	// that goes by the Host header, and each one asked for is kept fresh for some
	// minutes. Beyond it, a name is taken up only when the registry lists it.
	MaxUnknownServices = 1000
	// unknownFor is how long a name without instances counts after it was asked
	// for; discovery keeps it as long.
	unknownFor = 5 * time.Minute
)

// states finds the state of a service without a lock. The table is replaced as a
// whole; what is kept of services that are called no more is bounded by
// sweeping when new ones come.
type states struct {
	current atomic.Pointer[table]
	mu      sync.Mutex
	sweepAt int
	count   int
	unknown int
}

// table holds the services by their bare name, of which few share one: hashing
// the whole id would be the dearest part of a choice.
type table map[string][]*state

func (t table) get(id registry.ServiceID) *state {
	for _, s := range t[id.Name] {
		if s.id == id {
			return s
		}
	}
	return nil
}

func (t *states) init() {
	t.current.Store(&table{})
	t.sweepAt = sweepEvery
}

// all are the services there are.
func (t *states) all() iter.Seq[*state] {
	return func(yield func(*state) bool) {
		for _, named := range *t.current.Load() {
			for _, s := range named {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// get returns the state of a service; nil when there is none yet.
func (t *states) get(id registry.ServiceID) *state {
	s := t.current.Load().get(id)
	if s != nil && !s.used.Load() {
		s.used.Store(true)
	}
	return s
}

// add returns the state of a service, made when missing; nil when there are too
// many unknown ones already and the name is not vouched for.
func (t *states) add(id registry.ServiceID, l *LoadBalancer, vouched bool) *state {
	s, swept := t.addLocked(id, l, vouched)
	for _, old := range swept {
		old.retire()
	}
	return s
}

func (t *states) addLocked(id registry.ServiceID, l *LoadBalancer, vouched bool) (added *state, swept []*state) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.current.Load().get(id); s != nil {
		return s, nil
	}
	now := l.now()
	if t.unknown >= MaxUnknownServices {
		swept = t.remove(func(s *state) bool { return !s.known && now-s.asked.Load() > int64(unknownFor) })
		if t.unknown >= MaxUnknownServices && !vouched {
			return nil, swept
		}
	}
	if t.count-t.unknown >= t.sweepAt {
		swept = append(swept, t.remove(func(s *state) bool { return s.known && !s.used.Swap(false) })...)
		t.sweepAt = t.count - t.unknown + sweepEvery
	}
	s := &state{balancer: l, id: id}
	s.used.Store(true)
	s.asked.Store(now)
	s.budget.init()
	next := maps.Clone(*t.current.Load())
	named := next[id.Name]
	next[id.Name] = append(named[:len(named):len(named)], s)
	t.count++
	t.unknown++
	t.current.Store(&next)
	return s, swept
}

// remove takes services out and returns them. The lock is held.
func (t *states) remove(unused func(*state) bool) (removed []*state) {
	next := make(table, len(*t.current.Load()))
	for s := range t.all() {
		if !unused(s) {
			next[s.id.Name] = append(next[s.id.Name], s)
			continue
		}
		t.count--
		if !s.known {
			t.unknown--
		}
		removed = append(removed, s)
	}
	t.current.Store(&next)
	return removed
}

// classify says whether a service has instances.
func (t *states) classify(s *state, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.known == known || t.current.Load().get(s.id) != s {
		return
	}
	s.known = known
	if known {
		t.unknown--
	} else {
		t.unknown++
	}
}
