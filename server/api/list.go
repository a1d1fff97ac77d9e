package api

import (
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/push"
)

// listInstances is what every client asks every few seconds: a look-up and bytes
// that were encoded once for this state of the service.
func (a *API) listInstances(c *call) (answer, error) {
	k, err := c.ServiceKey()
	if err != nil {
		return answer{}, err
	}
	return a.listOf(c, k)
}

func (a *API) listOf(c *call, k wire.ServiceKey) (answer, error) {
	udpPort, err := c.Int("udpPort", 0)
	if err != nil {
		return answer{}, err
	}
	switches := a.switches.Load()
	agent := c.agent()
	clusters := c.Get("clusters")
	cacheMillis := switches.DefaultCacheMillis
	if udpPort > 0 && switches.CanPush(agent) && a.push.Subscribe(push.Request{
		Service:   k,
		Shape:     push.Shape{Clusters: clusters, Grouped: agent.GroupedNames()},
		ClientIP:  c.Get("clientIP"),
		Port:      udpPort,
		Requester: requester(c.request),
		Agent:     c.request.UserAgent(),
		App:       c.Get("app"),
	}) {
		cacheMillis = switches.DefaultPushCacheMillis
	}
	revision, found := a.store.Lookup(k)
	if !found {
		return jsonBytes(wire.AppendUnknownService(nil, k.ServiceName.String(), clusters, cacheMillis)), nil
	}
	q := naming.Query{
		Clusters:    clusters,
		HealthyOnly: c.StrictBool("healthyOnly"),
		Grouped:     agent.GroupedNames(),
		Env:         c.Get("env"),
	}
	if c.StrictBool("isCheck") {
		if hosts, _ := revision.Select(q); len(hosts) > 0 {
			return jsonBytes([]byte("{}")), nil
		}
	}
	head, varying, tail := revision.Encoded(q).Parts(cacheMillis, time.Now().UnixMilli())
	reply := jsonBytes(head)
	reply.more = [...][]byte{varying, tail}
	return reply, nil
}

// Pushed returns what subscribers are sent: the answer they would get if they
// asked now. While the switch pushEnabled is off that is nothing: it holds at once
// and not only for who subscribes from then on.
func Pushed(store *naming.Store, switches *naming.Switches) push.Source {
	return func(k wire.ServiceKey, s push.Shape) ([]byte, bool) {
		values := switches.Load()
		if !values.PushEnabled {
			return nil, false
		}
		cacheMillis := values.DefaultPushCacheMillis
		revision, found := store.Lookup(k)
		if !found {
			return wire.AppendUnknownService(nil, k.ServiceName.String(), s.Clusters, cacheMillis), true
		}
		q := naming.Query{Clusters: s.Clusters, Grouped: s.Grouped}
		return revision.Answer(q, cacheMillis, time.Now().UnixMilli()), true
	}
}

// requester is the address a request came from; invalid when it cannot be told.
func requester(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}
