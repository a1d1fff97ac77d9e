package loadbalance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// ErrClosed says that the balancer was closed before the call.
var ErrClosed = errors.New("load balancer is closed")

// closeTimeout bounds [LoadBalancer.Close].
const closeTimeout = 2 * time.Second

// Options configures a [LoadBalancer]. The zero value of every field but
// Discovery is usable.
type Options struct {
	// Discovery answers which instances there are. The balancer does not close it.
	Discovery *discovery.Client
	// Properties is the whole configuration; nil is [DefaultProperties] with what
	// PreferSameCluster and UseUnhealthyWhenEmpty say, which count only then.
	Properties *Properties
	// Policy chooses among the candidates of every service; nil is what the
	// properties say.
	Policy Policy
	// Cluster is the caller's own cluster; "" means that it is in none.
	Cluster string
	// Zone is the caller's own zone where the properties name none, such as that of
	// its registration's metadata; "" is Cluster (client rule D-R13).
	Zone string
	// InstanceID stands for the caller when a subset is drawn for it and the
	// properties name none; "" is a random one.
	InstanceID string
	// PreferSameCluster sends calls to the caller's own cluster while it has a
	// usable instance that the call has not tried yet.
	PreferSameCluster bool
	// UseUnhealthyWhenEmpty sends calls to unhealthy instances when there are no
	// healthy ones; by default that is a [NoInstanceError] (client rule D-R15).
	UseUnhealthyWhenEmpty bool
	// Filters narrow the usable instances further, in this order and before any
	// stage; what they leave out gets no traffic.
	Filters []Filter
	// Stages are further ones that a chain may name.
	Stages []Stage
	// Lifecycles are told of every choice and call, in this order.
	Lifecycles []Lifecycle
	// Registerer receives the metrics of calls while stats.enabled, and that of
	// failed health checks, until the balancer is closed; nil means none.
	Registerer prometheus.Registerer
	// ProbeTransport makes the requests of health checks; nil is one of its own.
	ProbeTransport http.RoundTripper
	// Rand returns the random numbers of the policies that the properties name; nil
	// is math/rand/v2's.
	Rand Rand
	// Logger may be nil.
	Logger *slog.Logger
}

// LoadBalancer leads from a service to one of its instances. It has no cache:
// each choice is made from the list that discovery holds at that moment (client
// rule D-R6), and what can be worked out once per list is. It has no goroutine
// of its own but for the probes of the stage health-check. All methods are safe
// for concurrent use.
type LoadBalancer struct {
	discovery  *discovery.Client
	policy     Policy // nil: by configuration
	filters    []Filter
	custom     []Stage
	lifecycles []Lifecycle
	cluster    string
	zone       string
	instanceID string
	rand       Rand
	directory  directory
	log        *slog.Logger
	epoch      time.Time
	stats      *statistics
	probes     chan struct{} // one place for each probe under way

	config atomic.Pointer[config]
	// configured says that properties were given, so that they decide what
	// [TransportOptions] would otherwise.
	configured    atomic.Bool
	reconfiguring sync.Mutex

	closed   atomic.Bool
	services states
	requests sync.Pool // of *Request

	// life ends with the balancer. mu orders starting and closing.
	life   context.Context
	end    context.CancelFunc
	mu     sync.Mutex
	owned  sync.WaitGroup
	prober func() http.RoundTripper
}

// New returns a balancer over a discovery client. It asks nothing yet. The error
// names everything that is wrong with the properties.
func New(o Options) (*LoadBalancer, error) {
	if o.Discovery == nil {
		return nil, errors.New("load balancer options: no discovery client")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Zone == "" {
		o.Zone = o.Cluster
	}
	if o.InstanceID == "" {
		o.InstanceID = uuid.NewString()
	}
	l := &LoadBalancer{
		discovery: o.Discovery, policy: o.Policy, filters: o.Filters, custom: o.Stages,
		lifecycles: o.Lifecycles, cluster: o.Cluster, zone: o.Zone, instanceID: o.InstanceID,
		rand: orDefault(o.Rand), directory: directory{discovery: o.Discovery}, log: o.Logger,
		epoch: time.Now(), probes: make(chan struct{}, maxProbes),
	}
	l.stats = newStatistics(o.Registerer, &l.services)
	l.prober = sync.OnceValue(func() http.RoundTripper {
		if o.ProbeTransport != nil {
			return o.ProbeTransport
		}
		return NewBaseTransport(BaseTransportOptions{MaxIdleConnsPerHost: 1})
	})
	l.life, l.end = context.WithCancel(context.Background())
	l.requests.New = func() any { return new(Request) }
	l.services.init()
	p := DefaultProperties()
	p.PreferSameCluster, p.UseUnhealthyWhenEmpty = o.PreferSameCluster, o.UseUnhealthyWhenEmpty
	if o.Properties != nil {
		p = *o.Properties
		l.configured.Store(true)
	}
	c, err := l.newConfig(p)
	if err != nil {
		l.end()
		return nil, fmt.Errorf("load balancer options: %w", err)
	}
	l.config.Store(c)
	return l, nil
}

// ID returns the id that a name stands for; see [discovery.Client.ID].
func (l *LoadBalancer) ID(name string) registry.ServiceID { return l.discovery.ID(name) }

// Choose picks an instance of a service and avoids those that earlier attempts
// of the same call tried, as long as there are others. Only the first choice for
// a service may wait, within the context, for its list. The caller reports the
// end of its call to Result.Done unless that is nil.
//
// The error is a [*NoInstanceError] when the service has nothing to send to,
// whether its list has nothing usable or could not be had; it is the context's
// when that ended first, and [ErrClosed] after Close.
func (l *LoadBalancer) Choose(ctx context.Context, id registry.ServiceID, tried ...*registry.Instance) (Result, error) {
	r := l.requests.Get().(*Request)
	r.Context, r.Service, r.Tried = ctx, id.Normalize(), tried
	return l.choose(r)
}

// ChooseFor is [LoadBalancer.Choose] for a call of which more is known than its
// service: stages that depend on the request look at its header and URL. The
// request's Context is set to ctx.
func (l *LoadBalancer) ChooseFor(ctx context.Context, r Request) (Result, error) {
	pooled := l.requests.Get().(*Request)
	*pooled = r
	pooled.Context, pooled.Service = ctx, r.Service.Normalize()
	return l.choose(pooled)
}

// choose takes a request of the pool and gives it back.
func (l *LoadBalancer) choose(r *Request) (result Result, err error) {
	if l.closed.Load() {
		l.giveBack(r)
		return Result{}, ErrClosed
	}
	var w *watch
	if lifecycles := l.config.Load().lifecycles; len(lifecycles) > 0 {
		w = newWatch(lifecycles, *r)
	}
	v, snapshot, err := l.look(r.Context, r.Service)
	if err == nil {
		if !v.settings.avoidTried {
			r.Tried = nil
		}
		if result, err = v.pick(r); err == nil {
			v.settings.begin(&result)
			w.chosen(&result)
			l.giveBack(r)
			return result, nil
		}
	}
	switch {
	case snapshot == nil:
		err = l.noList(r.Context, r.Service, err)
	case errors.Is(err, ErrNoInstance):
		err = l.noInstance(r.Context, snapshot)
	default:
		err = fmt.Errorf("choose an instance of %s: %w", r.Service, err)
	}
	w.discarded(err)
	l.giveBack(r)
	return Result{}, err
}

func (l *LoadBalancer) giveBack(r *Request) {
	*r = Request{}
	l.requests.Put(r)
}

// chooseSame is another attempt at the instance of the one before.
func (l *LoadBalancer) chooseSame(ctx context.Context, r Request, before Result) Result {
	r.Context, r.Service = ctx, r.Service.Normalize()
	var w *watch
	if lifecycles := l.config.Load().lifecycles; len(lifecycles) > 0 {
		w = newWatch(lifecycles, r)
	}
	result := Result{Instance: before.Instance, endpoint: before.endpoint}
	before.settings.begin(&result)
	w.chosen(&result)
	return result
}

// begin counts a call in.
func (set *settings) begin(r *Result) {
	r.settings = set
	e := r.endpoint
	if e == nil {
		return
	}
	if s := e.state; set.sameInstance && s.last.Load() != e {
		s.last.Store(e)
	}
	if set.health != nil && !e.state.called.Load() {
		e.state.called.Store(true)
	}
	if !set.tracked {
		return
	}
	e.active.Add(1)
	if theirs := r.Done; theirs != nil {
		r.Done = func(o Outcome) {
			e.end(o)
			theirs(o)
		}
		return
	}
	r.Done = e.done
}

// look returns the newest list and its view. The list may be newer than the one
// that the view was built for, with the same content.
func (l *LoadBalancer) look(ctx context.Context, id registry.ServiceID) (*view, *discovery.Snapshot, error) {
	s := l.services.get(id)
	if s == nil || s.view.Load() == nil {
		return l.first(ctx, id)
	}
	snapshot, err := l.discovery.Snapshot(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	v := s.view.Load()
	if !v.from(snapshot) || v.settings.config != l.config.Load() {
		return l.rebuild(ctx, s)
	}
	if v.version != s.version.Load() || v.until != 0 && l.now() >= v.until {
		// The list is the same: whoever comes while another works it out goes by
		// the view there is.
		if s.mu.TryLock() {
			defer s.mu.Unlock()
			v, err = l.rebuildLocked(s, snapshot)
			return v, snapshot, err
		}
	}
	return v, snapshot, nil
}

// first waits for the first list of a service.
func (l *LoadBalancer) first(ctx context.Context, id registry.ServiceID) (*view, *discovery.Snapshot, error) {
	s := l.services.add(id, l, false)
	if s == nil {
		if !l.directory.has(ctx, id) {
			return nil, nil, errTooManyUnknown
		}
		s = l.services.add(id, l, true)
	}
	s.asked.Store(l.now())
	p, err := l.config.Load().properties.For(id)
	if err != nil {
		return nil, nil, err
	}
	if limit := p.ServiceDiscovery.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errDiscoveryTimeout)
		defer cancel()
	}
	return l.rebuild(ctx, s)
}

var (
	errDiscoveryTimeout = errors.New("no list within service-discovery.timeout")
	errTooManyUnknown   = fmt.Errorf("not looked up, since %d names without instances are being asked for and the registry does not list this one", MaxUnknownServices)
)

// rebuild works out the view of the newest list, once for however many callers
// notice that it is new.
func (l *LoadBalancer) rebuild(ctx context.Context, s *state) (*view, *discovery.Snapshot, error) {
	// The first list is waited for without the lock.
	if _, err := l.discovery.Snapshot(ctx, s.id); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Asked again under the lock, so that a slow caller cannot bring back an
	// older list.
	snapshot, err := l.discovery.Snapshot(ctx, s.id)
	if err != nil {
		return nil, nil, err
	}
	v, err := l.rebuildLocked(s, snapshot)
	return v, snapshot, err
}

func (l *LoadBalancer) rebuildLocked(s *state, snapshot *discovery.Snapshot) (*view, error) {
	v, c := s.view.Load(), l.config.Load()
	var set *settings
	switch {
	case v == nil || v.settings.config != c:
		var err error
		if set, err = l.compile(c, s.id); err != nil {
			return nil, err
		}
	case v.from(snapshot) && v.version == s.version.Load() && (v.until == 0 || l.now() < v.until):
		return v, nil
	default:
		set = v.settings
	}
	if v == nil && strings.Contains(s.id.Name, "_") {
		l.log.Warn("java callers cannot name this service in a URL, because of the underscore",
			slog.String("service", s.id.String()))
	}
	s.endOtherChecks(set.health)
	next := s.build(set, snapshot)
	s.check(next)
	s.view.Store(next)
	l.services.classify(s, len(snapshot.Instances) > 0)
	l.log.Debug("candidates changed", slog.String("service", s.id.String()),
		slog.Uint64("revision", snapshot.Revision), slog.Int("known", len(snapshot.Instances)),
		slog.Int("usable", len(next.usable.candidates)))
	return next, nil
}

// reconfigure applies another configuration to what runs for the service; its
// view is made anew by the next call.
func (s *state) reconfigure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.balancer
	v := s.view.Load()
	if v == nil || s.retired {
		return
	}
	if _, err := l.rebuildLocked(s, v.snapshot); err != nil {
		l.log.Error("a service keeps its former chain", slog.String("service", s.id.String()), slog.Any("error", err))
	}
}

// noList turns discovery's error into the one of Choose.
func (l *LoadBalancer) noList(ctx context.Context, id registry.ServiceID, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("choose an instance: %w", err)
	case errors.Is(err, discovery.ErrClosed):
		return fmt.Errorf("choose an instance of %s: %w", id, err)
	}
	return &NoInstanceError{Service: id, Err: err}
}

// Do calls f with an instance of a service and reports how it ended: the way by
// name for everything that is not HTTP. It makes one attempt, since only f knows
// whether a second would be safe; callers that want one use [LoadBalancer.Choose].
func (l *LoadBalancer) Do(ctx context.Context, id registry.ServiceID, f func(context.Context, *registry.Instance) error) error {
	chosen, err := l.Choose(ctx, id)
	if err != nil {
		return err
	}
	outcome := Outcome{Err: errPanicked}
	if chosen.Done != nil {
		began := time.Now()
		defer func() {
			outcome.Latency = time.Since(began)
			chosen.Done(outcome)
		}()
	}
	outcome.Err = f(ctx, chosen.Instance)
	return outcome.Err
}

// errPanicked is the outcome of a call that did not return.
var errPanicked = errors.New("the call panicked")

// EagerLoad works out what the first call to each service of eager-load.clients
// would have to wait for. It returns when all lists have come or the context has
// ended; a list that cannot be had is logged, and left to the first call.
func (l *LoadBalancer) EagerLoad(ctx context.Context) {
	l.load(ctx, l.config.Load().properties.EagerLoad.Clients)
}

func (l *LoadBalancer) load(ctx context.Context, names []string) {
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Go(func() {
			if _, _, err := l.look(ctx, l.ID(name).Normalize()); err != nil {
				l.log.Warn("service not loaded eagerly, its first call will try again",
					slog.String("service", name), slog.Any("error", err))
			}
		})
	}
	wg.Wait()
}

// run starts a goroutine that Close waits for; false when it is too late.
func (l *LoadBalancer) run(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() {
		return false
	}
	l.owned.Go(f)
	return true
}

func (l *LoadBalancer) failedOpen(id registry.ServiceID) {
	l.stats.failedOpen(id)
	l.log.Warn("no instance answers its health check, all are used", slog.String("service", id.String()))
}

// Close ends the balancer: every later choice is [ErrClosed], the probes end and
// the metrics are taken back, within two seconds; the error says that not all of
// it did. It is idempotent.
func (l *LoadBalancer) Close() error {
	l.mu.Lock()
	first := !l.closed.Swap(true)
	l.mu.Unlock()
	l.end()
	if !first {
		return nil
	}
	l.reconfiguring.Lock()
	l.stats.disable()
	l.stats.close()
	l.reconfiguring.Unlock()
	ended := make(chan struct{})
	go func() {
		l.owned.Wait()
		close(ended)
	}()
	late := time.NewTimer(closeTimeout)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		return fmt.Errorf("close load balancer: not everything ended within %s", closeTimeout)
	}
	if c, ok := l.prober().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	return nil
}
