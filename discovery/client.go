package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// closeTimeout bounds [Client.Close] (client rule C-R4).
const closeTimeout = 2 * time.Second

// Client knows the instances of services (Spring's DiscoveryClient). The first
// question about a service is asked of the sources, everything later is answered
// from memory and refreshed behind the caller's back: an outage of the registry
// leaves the last good list in use, marked stale.
//
// A service is kept fresh while someone subscribes to it or has asked for it in
// the last five minutes; then it is forgotten unless it is stale, so that
// nothing is polled for ever (client case 15).
//
// All methods are safe for concurrent use.
type Client struct {
	opt     Options
	metrics *metrics
	// defaults complete plain names; they may change while the client is in use.
	defaults atomic.Pointer[scope]
	polls    *planner
	// events follows the lists for the publisher, disk for the files; disk and
	// failover are nil when they are off.
	events   *follower
	disk     *disk
	failover *failover

	// ctx is the life of the client; everything it starts ends with it.
	ctx    context.Context
	cancel context.CancelFunc

	// entries is replaced as a whole, so that readers need no lock.
	entries atomic.Pointer[map[registry.ServiceID]*entry]

	// mu guards what follows and the replacing of entries. It may be taken while
	// an entry's lock is held, never the other way round.
	mu      sync.Mutex
	closed  bool
	polling bool
	unknown int
	owned   sync.WaitGroup

	closing  sync.Once
	closeErr error
}

// New returns a client over the options' sources. It asks them nothing yet and
// starts no goroutine: that happens with the first question, but for the failover
// switch and the heartbeat where they are on.
func New(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("discovery options: %w", err)
	}
	o = o.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{opt: o, polls: newPlanner(), ctx: ctx, cancel: cancel}
	c.SetDefaults(o.Namespace, o.Group)
	c.entries.Store(&map[registry.ServiceID]*entry{})
	metrics, err := newMetrics(o.Registerer, c.countStale, c.countProtected)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("register discovery metrics: %w", err)
	}
	c.metrics = metrics
	for i, s := range o.Sources {
		if n, ok := s.(Notifier); ok {
			n.Notify(func(l Listing) { c.push(i, l) })
		}
	}
	c.events = newFollower(nil, false)
	if o.Publisher != nil {
		c.events.handle = c.tellChange
	}
	if o.Disk.Dir != "" {
		c.disk = newDisk(o, metrics.file)
	}
	if o.Disk.Failover {
		c.failover = newFailover(o)
		o.Logger.Info("the failover switch is looked for", slog.String("folder", c.failover.dir))
		c.checkFailover()
		c.run(c.watchFailover)
	}
	if o.Heartbeat.Enabled {
		c.run(c.beat)
	}
	return c, nil
}

// Snapshot returns what is known about a service. Only the first question about
// a service waits, for the context or Options.FirstFetchTimeout at most;
// concurrent ones share one fetch. When that fails its error is returned and the
// next caller asks again (client rule C-R11), unless there is a list on the disk.
// Afterwards Snapshot is a look-up and fails only where Options.FailureTolerance
// says so: a source that is down shows in the snapshot's StaleSince and Err. After
// Close it returns [ErrClosed].
func (c *Client) Snapshot(ctx context.Context, id registry.ServiceID) (*Snapshot, error) {
	id = id.Normalize()
	s := (*c.entries.Load())[id].read()
	if s == nil {
		var err error
		if s, err = c.first(ctx, id); err != nil {
			return nil, fmt.Errorf("discover %s: %w", id, err)
		}
	}
	return c.allow(s)
}

// allow returns a list that a caller may have.
func (c *Client) allow(s *Snapshot) (*Snapshot, error) {
	if s.Stale() {
		if err := c.tolerate(s); err != nil {
			return nil, fmt.Errorf("discover %s: %w", s.Service, err)
		}
	}
	return s, nil
}

// first waits for the first snapshot of a service.
func (c *Client) first(ctx context.Context, id registry.ServiceID) (*Snapshot, error) {
	e, err := c.lockEntry(id)
	if err != nil {
		return nil, err
	}
	e.touch()
	if s := e.current.Load(); s != nil {
		e.mu.Unlock()
		return s, nil
	}
	f, err := c.fly(e)
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case <-f.done:
		return f.snapshot, f.err
	case <-c.ctx.Done():
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Subscribe calls f with the current list as soon as there is one, and then with
// each changed one, from a goroutine of its own. A listener that is slower than
// the changes misses those in between and always gets the newest (client rule
// C-R15). A panic of f is logged and does not end the subscription.
//
// Subscribe does not wait: while the source is down it goes on trying. The error
// is [ErrClosed] or says what is wrong with the id.
func (c *Client) Subscribe(id registry.ServiceID, f func(*Snapshot)) (*Subscription, error) {
	if f == nil {
		return nil, errors.New("subscribe: no listener")
	}
	id = id.Normalize()
	e, err := c.lockEntry(id)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", id, err)
	}
	defer e.mu.Unlock()
	s := newSubscription(c, e, f)
	if !c.run(s.deliver) {
		return nil, fmt.Errorf("subscribe to %s: %w", id, ErrClosed)
	}
	e.subscriptions[s] = struct{}{}
	if current := e.current.Load(); current != nil {
		s.offer(current)
		return s, nil
	}
	if _, err := c.fly(e); err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", id, err)
	}
	return s, nil
}

// Services returns the sorted names in the client's namespace and group: the
// union of what the sources answer. It fails only when no source answered.
func (c *Client) Services(ctx context.Context) ([]string, error) {
	in := c.defaults.Load()
	return c.ServicesIn(ctx, in.namespace, in.group)
}

// ServicesIn is [Client.Services] for another namespace and group; "" are the
// defaults of package registry. It asks the sources each time.
func (c *Client) ServicesIn(ctx context.Context, namespace, group string) ([]string, error) {
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	id := registry.ServiceID{Namespace: namespace, Group: group}.Normalize()
	var names []string
	var errs []error
	for _, s := range c.opt.Sources {
		some, err := s.Services(ctx, id.Namespace, id.Group)
		if err != nil {
			errs = append(errs, fmt.Errorf("services of %s: %w", s.Name(), err))
			continue
		}
		names = append(names, some...)
	}
	if len(errs) == len(c.opt.Sources) {
		return nil, errors.Join(errs...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Close ends every subscription and poll and closes the sources, within two
// seconds altogether; the error says what did not end by then. No call of a
// listener begins and nothing is logged afterwards. Close is idempotent, and not
// to be called by a listener, whose end it waits for.
func (c *Client) Close() error {
	c.closing.Do(func() { c.closeErr = c.close() })
	return c.closeErr
}

func (c *Client) close() error {
	c.mu.Lock()
	c.closed = true
	for _, e := range *c.entries.Swap(&map[registry.ServiceID]*entry{}) {
		e.gone.Store(true)
	}
	c.mu.Unlock()
	c.cancel()
	c.metrics.unregister()

	results := make(chan error, len(c.opt.Sources)+1)
	for _, s := range c.opt.Sources {
		go func() {
			if err := s.Close(); err != nil {
				results <- fmt.Errorf("close source %s: %w", s.Name(), err)
				return
			}
			results <- nil
		}()
	}
	go func() {
		c.owned.Wait()
		results <- nil
	}()
	late := time.NewTimer(closeTimeout)
	defer late.Stop()
	var errs []error
	for range cap(results) {
		select {
		case err := <-results:
			errs = append(errs, err)
		case <-late.C:
			errs = append(errs, fmt.Errorf("close discovery: not everything ended within %s", closeTimeout))
			return errors.Join(errs...)
		}
	}
	return errors.Join(errs...)
}

// run starts a goroutine that Close waits for; false when it is too late.
func (c *Client) run(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.owned.Go(f)
	return true
}
