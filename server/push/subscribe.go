package push

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Request is what a list request says about where it wants to be pushed to.
type Request struct {
	Service wire.ServiceKey
	Shape   Shape
	// ClientIP and Port are the parameters clientIP and udpPort.
	ClientIP string
	Port     int
	// Requester is where the request came from; it counts only with
	// [Options.RequesterOnly].
	Requester netip.Addr
	// Agent and App are shown by [Server.Subscribers].
	Agent, App string
}

// Subscribe makes the sender of a list request a push target, or keeps it one
// for another while, and reports whether it is. Who is not one is expected to
// poll. Whether the agent is pushed to at all is the caller's decision. The
// service need not exist.
func (s *Server) Subscribe(r Request) bool {
	addr, ok := clientAddress(r.ClientIP, r.Port)
	if !ok || s.o.RequesterOnly && addr.Addr() != r.Requester.Unmap() {
		return false
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	known := s.table.clients[addr]
	if known != nil && now.Before(known.refusedUntil) {
		return false
	}
	if svc := s.table.services[r.Service]; svc != nil {
		if sub := svc.shapes[r.Shape][addr]; sub != nil {
			sub.seen = now
			s.table.alive.again(sub.alive)
			return true
		}
		_, knownShape := svc.shapes[r.Shape]
		if svc.count >= s.o.MaxPerService || !knownShape && len(svc.shapes) >= maxShapes {
			return false
		}
	}
	if s.table.alive.len() >= s.o.MaxSubscriptions {
		return false
	}
	c := s.table.clientAt(addr, s.o.RatePerHost)
	if c.lingering != nil {
		s.lingering.remove(c.lingering)
		c.lingering = nil
	}
	s.table.add(r.Service, r.Shape, c, r.Agent, r.App, now)
	return true
}

// Subscriber is one subscription as operators see it.
type Subscriber struct {
	Service wire.ServiceKey
	Addr    netip.AddrPort
	Agent   string
	App     string
	// Clusters is the cluster list the client asked for.
	Clusters string
}

// Subscribers returns the subscriptions to the services that match accepts, in a
// stable order. It is meant for operators, not for every request.
func (s *Server) Subscribers(match func(wire.ServiceKey) bool) []Subscriber {
	var all []Subscriber
	s.mu.Lock()
	for _, svc := range s.table.services {
		if !match(svc.key) {
			continue
		}
		for _, of := range svc.shapes {
			for _, sub := range of {
				all = append(all, sub.subscriber())
			}
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b Subscriber) int {
		return cmp.Or(
			cmp.Compare(a.Service.Namespace, b.Service.Namespace),
			cmp.Compare(a.Service.Group, b.Service.Group),
			cmp.Compare(a.Service.Name, b.Service.Name),
			a.Addr.Compare(b.Addr),
			cmp.Compare(a.Clusters, b.Clusters),
		)
	})
	return all
}

func (s *subscription) subscriber() Subscriber {
	return Subscriber{s.service.key, s.client.addr, s.agent, s.app, s.shape.Clusters}
}
