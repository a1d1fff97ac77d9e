package loadbalance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
	if o.InstanceID == "" {
		o.InstanceID = uuid.NewString()
	}
	l := &LoadBalancer{
		discovery: o.Discovery, policy: o.Policy, filters: o.Filters, custom: o.Stages,
		lifecycles: o.Lifecycles, instanceID: o.InstanceID,
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
	c, err := l.newConfig(p, placeOf(o.Cluster, o.Zone))
	if err != nil {
		l.end()
		return nil, fmt.Errorf("load balancer options: %w", err)
	}
	l.config.Store(c)
	return l, nil
}

// ID returns the id that a name stands for; see [discovery.Client.ID].
func (l *LoadBalancer) ID(name string) registry.ServiceID { return l.discovery.ID(name) }

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
