package naming

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Options of a [Store]. The zero value is a node of its own with Nacos' settings.
type Options struct {
	// Logger receives what is odd, a line for each instance that is. Clients can cause
	// many, and who gives it bounds them; nil discards them.
	Logger *slog.Logger
	// Registerer takes the metrics; nil keeps them to the store. It must not
	// have those of another store.
	Registerer prometheus.Registerer
	// Node is this node's number in versions, unique in a cluster.
	Node uint16
	// Switches are the settings that can be changed at run time; nil makes new
	// ones.
	Switches *Switches
	// KeepExpired stops the removal of silent instances, not their marking
	// (nacos.naming.expireInstance=false).
	KeepExpired bool
	// KeepEmpty stops the removal of services without instances
	// (nacos.naming.empty-service.auto-clean=false).
	KeepEmpty bool
	// Discard has an empty service's settings removed from the replicated state
	// that holds them, in the end by [Store.ReleaseService]. It is called on the
	// store's goroutine, must not block, and is asked again when nothing came of
	// it. With nil the store is the only one that knows the service and removes it
	// itself.
	Discard func(wire.ServiceKey)
	// SweepDelay and SweepPeriod are when services are looked at for that, 50 s
	// and 30 s by default (nacos.naming.empty-service.clean.initial-delay-ms and
	// period-time-ms).
	SweepDelay, SweepPeriod time.Duration
}

// Store holds all services of the node. Its methods are safe for concurrent use;
// what they change is visible when they return.
type Store struct {
	logger      *slog.Logger
	switches    *Switches
	keepExpired bool
	keepEmpty   bool
	sweepPeriod time.Duration
	discard     func(wire.ServiceKey)

	clock                 *hybridClock
	lease                 *lease
	expiry                expiry
	metrics               *metrics
	warnings              warnings
	revisions             atomic.Uint64 // numbers given
	recorded              atomic.Uint64 // batches that changed what a snapshot holds
	decisions             chan struct{} // see Decisions
	beats                 beatCounts
	services              atomic.Int64
	ephemeral, persistent tally

	index   atomic.Pointer[ordered[wire.ServiceKey, *entry]]
	indexMu sync.Mutex // for changing index

	listeners   atomic.Pointer[[]func(wire.ServiceKey)]
	listenersMu sync.Mutex // for changing listeners

	cancel context.CancelFunc
	done   chan struct{}
}

// New returns a running store, empty and to be closed.
func New(o Options) *Store {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Switches == nil {
		o.Switches = NewSwitches()
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Store{
		logger: o.Logger, switches: o.Switches, keepExpired: o.KeepExpired, keepEmpty: o.KeepEmpty,
		sweepPeriod: cmp.Or(o.SweepPeriod, defaultSweepPeriod),
		discard:     o.Discard,
		clock:       &hybridClock{node: o.Node, wall: time.Now},
		lease:       newLease(time.Now()),
		warnings:    warnings{o.Logger},
		decisions:   make(chan struct{}, 1),
		cancel:      cancel, done: make(chan struct{}),
	}
	s.expiry.store = s
	s.metrics = newMetrics(o.Registerer, s)
	s.index.Store(newOrdered[wire.ServiceKey, *entry](compareServices))
	s.listeners.Store(new([]func(wire.ServiceKey)))
	go s.run(ctx, cmp.Or(o.SweepDelay, defaultSweepDelay))
	return s
}

// Close stops the lease clock and expiry and waits for them. The state can still
// be read and changed. Closing again does nothing.
func (s *Store) Close() error {
	s.cancel()
	<-s.done
	return nil
}

// run is the one goroutine of the store.
func (s *Store) run(ctx context.Context, sweepDelay time.Duration) {
	defer close(s.done)
	ticker := time.NewTicker(leaseTick)
	defer ticker.Stop()
	last := time.Now()
	nextSweep := s.lease.now() + sweepDelay
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		s.advance(now.Sub(last), now)
		last = now
		if s.lease.now() >= nextSweep {
			nextSweep = s.lease.now() + s.sweepPeriod
			s.sweep()
		}
	}
}

// advance lets real time pass for the instances.
func (s *Store) advance(gap time.Duration, wall time.Time) {
	frozen, why := s.lease.tick(gap, wall, s.beats.total(), !s.switches.Load().HealthCheckEnabled)
	s.metrics.frozen[why].Add(frozen.Seconds())
	if gap > stall {
		s.logger.Warn("the process stood still; every instance has one full timeout of grace", slog.Duration("pause", gap))
	}
	s.expiry.tick()
}

// Lookup returns the current revision of a service. It takes no lock and
// allocates nothing.
func (s *Store) Lookup(k wire.ServiceKey) (*Revision, bool) {
	s.lease.heard()
	e, ok := s.entry(k)
	if !ok {
		return nil, false
	}
	r := e.revision.Load()
	return r, r.exists
}

func (s *Store) entry(k wire.ServiceKey) (*entry, bool) { return s.index.Load().get(k) }

// Services returns the current revisions of a namespace's services, sorted by
// grouped name.
func (s *Store) Services(namespace string) []*Revision {
	s.lease.heard()
	var all []*Revision
	for k, e := range s.index.Load().from(wire.ServiceKey{Namespace: namespace}) {
		if k.Namespace != namespace {
			break
		}
		if r := e.revision.Load(); r.exists {
			all = append(all, r)
		}
	}
	return all
}

// Namespaces returns the namespaces that have services, sorted.
func (s *Store) Namespaces() []string {
	var all []string
	for e := range s.index.Load().values() {
		if n := e.key.Namespace; e.revision.Load().exists && (len(all) == 0 || all[len(all)-1] != n) {
			all = append(all, n)
		}
	}
	return all
}

// Stats are totals of the moment.
type Stats struct {
	Services int
	// Instances is how many there are of both kinds.
	Instances int
	// Persistent is how many of the instances are.
	Persistent int
	// Healthy is how many of the instances really are.
	Healthy int
	// Beats is how many came since the start.
	Beats uint64
}

// Stats returns the totals; it costs nothing.
func (s *Store) Stats() Stats {
	persistent := s.persistent.instances.Load()
	return Stats{
		Services: int(s.services.Load()), Instances: int(s.ephemeral.instances.Load() + persistent),
		Persistent: int(persistent), Healthy: int(s.ephemeral.healthy.Load() + s.persistent.healthy.Load()),
		Beats: s.beats.total(),
	}
}

// tally counts the instances of one kind.
type tally struct{ instances, healthy atomic.Int64 }

func (t *tally) add(instances, healthy int) {
	t.instances.Add(int64(instances))
	t.healthy.Add(int64(healthy))
}

// count keeps the totals when a revision replaces another.
func (s *Store) count(old, r *Revision) {
	s.ephemeral.add(r.ephemeral.size-old.ephemeral.size, r.healthy-old.healthy)
	if r.persistent != old.persistent {
		s.persistent.add(r.persistent.size-old.persistent.size, r.healthyPersistent-old.healthyPersistent)
	}
	switch {
	case r.exists && !old.exists:
		s.services.Add(1)
	case old.exists && !r.exists:
		s.services.Add(-1)
	}
}

// OnChange adds a function that is called after a new revision of a service was
// published, or the service removed: registrations, removals, changed values and
// health. It runs on the goroutine that made the change, holding no lock, and
// must not block. Calls for one service may overlap and come out of order; who
// needs the newest state looks it up.
func (s *Store) OnChange(f func(wire.ServiceKey)) {
	s.listenersMu.Lock()
	defer s.listenersMu.Unlock()
	current := *s.listeners.Load()
	longer := append(current[:len(current):len(current)], f)
	s.listeners.Store(&longer)
}

func (s *Store) notify(k wire.ServiceKey) {
	for _, f := range *s.listeners.Load() {
		f(k)
	}
}

// change applies a function to a service, which is created if need be. Without
// create, apply is called with nil for a service that has no entry.
func (s *Store) change(k wire.ServiceKey, create bool, apply func(*draft) error) error {
	s.lease.heard()
	for {
		e, ok := s.entry(k)
		if !ok && !create {
			return apply(nil)
		}
		if !ok {
			if err := checkService(k); err != nil {
				return err
			}
			s.addEntries(k)
			continue
		}
		err := e.do(apply)
		if !errors.Is(err, errDead) {
			return err
		}
		s.forget(e)
	}
}

// checkService says whether a service can be called so.
func checkService(k wire.ServiceKey) error {
	if strings.ContainsRune(k.Namespace, 0) {
		return wire.BadRequest("namespaceId has a zero byte")
	}
	_, err := wire.ParseServiceName(k.ServiceName.String(), "")
	return err
}

// expect makes room for many services at once, where one by one would copy a
// part of the index for each. Names that cannot be are passed over.
func (s *Store) expect(services iter.Seq[wire.ServiceKey]) {
	var keys []wire.ServiceKey
	for k := range services {
		if checkService(k) == nil {
			keys = append(keys, k)
		}
	}
	s.addEntries(keys...)
}

// addEntries adds those of the services that have no entry. Their names must be
// right.
func (s *Store) addEntries(keys ...wire.ServiceKey) {
	s.indexMu.Lock()
	defer s.indexMu.Unlock()
	index := s.index.Load().edit()
	before := index.size
	for _, k := range keys {
		if _, ok := index.get(k); !ok {
			e := s.emptyEntry(k)
			index.put(e.key, e)
		}
	}
	if index.size > before {
		s.index.Store(index.done())
	}
}

func (s *Store) emptyEntry(k wire.ServiceKey) *entry {
	k = wire.ServiceKey{ // whose text is no part of a request's
		Namespace:   strings.Clone(k.Namespace),
		ServiceName: wire.ServiceName{Group: strings.Clone(k.Group), Name: strings.Clone(k.Name)},
	}
	e := &entry{store: s, key: k, grouped: k.ServiceName.String()}
	e.revision.Store(&Revision{
		key: k, grouped: e.grouped, shared: &sharedAnswers{},
		ephemeral:  newOrdered[InstanceKey, *Instance](InstanceKey.Compare),
		persistent: newOrdered[InstanceKey, *Instance](InstanceKey.Compare),
	})
	return e
}

// forget takes a dead entry out of the index.
func (s *Store) forget(e *entry) {
	s.indexMu.Lock()
	defer s.indexMu.Unlock()
	index := s.index.Load()
	if current, ok := index.get(e.key); ok && current == e {
		changed := index.edit()
		changed.remove(e.key)
		s.index.Store(changed.done())
	}
}

// compareServices orders by namespace and grouped name, without joining the
// latter.
func compareServices(a, b wire.ServiceKey) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	if a.Group == b.Group {
		return strings.Compare(a.Name, b.Name)
	}
	return compareGroups(a.Group, b.Group)
}

// compareGroups orders different groups as if each were followed by "@@", which
// no group contains or can be taken for the end of. No group is empty: that is
// where a namespace begins, before whatever a group may begin with.
func compareGroups(a, b string) int {
	n := min(len(a), len(b))
	if n == 0 {
		return cmp.Compare(len(a), len(b))
	}
	if c := strings.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	if len(a) > len(b) {
		return -compareGroups(b, a)
	}
	rest := b[n:]
	if rest[0] != '@' {
		return cmp.Compare('@', rest[0])
	}
	if len(rest) == 1 {
		return -1 // no valid group ends so
	}
	return cmp.Compare('@', rest[1])
}
