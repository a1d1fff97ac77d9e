package push

import (
	"net/netip"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// The table of subscriptions. Everything in it is guarded by its owner's mutex.
type table struct {
	services map[wire.ServiceKey]*service
	clients  map[netip.AddrPort]*client
	hosts    map[netip.Addr]*host
	// alive holds the subscriptions by their last list request.
	alive queue[*subscription]
}

// service is a service with subscribers, whether it exists in the registry or not.
type service struct {
	key    wire.ServiceKey
	shapes map[Shape]map[netip.AddrPort]*subscription
	count  int

	// scheduled means it is waiting for a round; cooling, that it just had one;
	// dirty, that it changed meanwhile and has the next one coming.
	scheduled, cooling, dirty bool
	coolUntil                 time.Time
	// changed is when the first of the changes came that the next round sends.
	changed time.Time
}

// subscription is one client's interest in one service in one shape.
type subscription struct {
	service *service
	shape   Shape
	client  *client
	agent   string
	app     string
	seen    time.Time
	alive   ticket
	// pending is what was sent last and is not acknowledged yet, held what waits to
	// be sent; there is never both.
	pending *delivery
	held    *held
}

// client is one UDP socket that subscriptions point to. It can be reached or not
// whatever the service, so that is remembered here.
type client struct {
	addr          netip.AddrPort
	host          *host
	subscriptions map[*subscription]struct{}

	// heard says that it has acknowledged something since it was there or dropped.
	heard bool
	// silentSince is when the first datagram was sent that nothing was heard
	// after; zero when nothing is owed.
	silentSince time.Time
	// failures counts how often in a row it was dropped for its silence.
	failures int
	// refusedUntil is until when it is told to poll instead.
	refusedUntil time.Time
	// lingering is its place among those without subscriptions that are
	// remembered for their failures, since left.
	lingering ticket
	left      time.Time
}

// host is one IP address, with what all its clients may be sent and those that
// wait for it.
type host struct {
	limiter           *rate.Limiter
	clients           int
	answering, silent queue[*subscription]
	turn              int    // counts what was sent to those who waited
	throttled         ticket // its place among the hosts where somebody waits
}

func newTable() table {
	return table{
		services: make(map[wire.ServiceKey]*service),
		clients:  make(map[netip.AddrPort]*client),
		hosts:    make(map[netip.Addr]*host),
	}
}

// add makes a subscription; the texts are copied, as they are parts of requests.
func (t *table) add(k wire.ServiceKey, shape Shape, c *client, agent, app string, now time.Time) {
	svc := t.services[k]
	if svc == nil {
		svc = &service{key: cloneKey(k), shapes: make(map[Shape]map[netip.AddrPort]*subscription)}
		t.services[svc.key] = svc
	}
	shape.Clusters = strings.Clone(shape.Clusters)
	sub := &subscription{
		service: svc, shape: shape, client: c, seen: now,
		agent: strings.Clone(wire.Excerpt(agent)), app: strings.Clone(wire.Excerpt(app)),
	}
	of := svc.shapes[shape]
	if of == nil {
		of = make(map[netip.AddrPort]*subscription)
		svc.shapes[shape] = of
	}
	of[c.addr] = sub
	svc.count++
	c.subscriptions[sub] = struct{}{}
	sub.alive = t.alive.push(sub)
}

// removeSubscription takes a subscription out and what is left empty by that,
// except the client, whom the caller may want to remember.
func (t *table) removeSubscription(sub *subscription) {
	svc := sub.service
	of := svc.shapes[sub.shape]
	delete(of, sub.client.addr)
	if len(of) == 0 {
		delete(svc.shapes, sub.shape)
	}
	svc.count--
	delete(sub.client.subscriptions, sub)
	t.alive.remove(sub.alive)
	t.dropIfIdle(svc)
}

// dropIfIdle forgets a service nobody subscribes to, unless it is still queued.
func (t *table) dropIfIdle(svc *service) {
	if svc.count == 0 && !svc.scheduled && !svc.cooling {
		delete(t.services, svc.key)
	}
}

func (t *table) clientAt(addr netip.AddrPort, perHost int) *client {
	if c := t.clients[addr]; c != nil {
		return c
	}
	h := t.hosts[addr.Addr()]
	if h == nil {
		h = &host{limiter: rate.NewLimiter(rate.Limit(perHost), 5*perHost)}
		t.hosts[addr.Addr()] = h
	}
	h.clients++
	c := &client{addr: addr, host: h, subscriptions: make(map[*subscription]struct{})}
	t.clients[addr] = c
	return c
}

func (t *table) removeClient(c *client) {
	delete(t.clients, c.addr)
	if c.host.clients--; c.host.clients == 0 {
		delete(t.hosts, c.addr.Addr())
	}
}

func cloneKey(k wire.ServiceKey) wire.ServiceKey {
	return wire.ServiceKey{
		Namespace:   strings.Clone(k.Namespace),
		ServiceName: wire.ServiceName{Group: strings.Clone(k.Group), Name: strings.Clone(k.Name)},
	}
}
