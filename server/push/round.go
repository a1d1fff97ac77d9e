package push

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// maxAnswer is the size of an answer above which compressing it into a datagram
// is not even tried.
const maxAnswer = 4 << 20

// round sends one changed service's state to its subscribers; it reports whether
// there was one to send.
func (s *Server) round() bool {
	s.mu.Lock()
	svc, ok := s.ready.pop()
	if !ok {
		s.mu.Unlock()
		return false
	}
	// From here on a change makes a round of its own: the state that is read below
	// may or may not hold it.
	svc.scheduled, svc.cooling, svc.dirty = false, true, false
	svc.coolUntil = time.Now().Add(s.o.Window)
	changed := svc.changed
	s.cooling.push(svc)
	shapes := make([]Shape, 0, len(svc.shapes))
	for shape := range svc.shapes {
		shapes = append(shapes, shape)
	}
	s.mu.Unlock()
	measured := false
	for _, shape := range shapes {
		for _, d := range s.deliveries(svc, shape) {
			if s.send(d) && !measured {
				measured = true
				s.metrics.delay.Observe(time.Since(changed).Seconds())
			}
		}
	}
	return true
}

// deliveries prepares one shape's part of a round, for each of its subscribers.
func (s *Server) deliveries(svc *service, shape Shape) []*delivery {
	answer, ok := s.o.Source(svc.key, shape)
	if !ok {
		return nil
	}
	if len(answer) > maxAnswer {
		s.tooLarge(svc, shape)
		return nil
	}
	s.mu.Lock()
	s.lastSequence++
	sequence := s.lastSequence
	s.mu.Unlock()
	datagram := wire.EncodePush(wire.Push{Type: wire.PushDom, Data: string(answer), LastRefTime: sequence})
	if len(datagram) > wire.MaxDatagram {
		s.tooLarge(svc, shape)
		return nil
	}
	return s.expectAll(svc, shape, sequence, datagram)
}

// tooLarge gives up a state that fits no datagram, and with it the older ones
// that wait for an acknowledgement: nobody shall be sent what is out of date.
// Its subscribers poll.
func (s *Server) tooLarge(svc *service, shape Shape) {
	s.metrics.tooLarge.Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range svc.shapes[shape] {
		s.forget(sub)
	}
}

// expectAll notes the datagram for every subscriber of a shape before any is
// sent, as acknowledgements can be faster than we are, and returns those that may
// be sent at once.
func (s *Server) expectAll(svc *service, shape Shape, sequence int64, datagram []byte) []*delivery {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	of := svc.shapes[shape]
	deliveries := make([]*delivery, 0, len(of))
	for _, sub := range inTurn(of, now) {
		if sub.client.unreachable(now) {
			s.drop(sub.client, now)
			continue
		}
		if sub.client.host.limiter.AllowN(now, 1) {
			deliveries = append(deliveries, s.expect(sub, sequence, datagram, now))
		} else {
			s.hold(sub, sequence, datagram, now)
		}
	}
	return deliveries
}

// inTurn returns the subscriptions in the order in which they are sent: first
// those of clients that answer.
func inTurn(of map[netip.AddrPort]*subscription, now time.Time) []*subscription {
	order, silent := make([]*subscription, 0, len(of)), []*subscription{}
	for _, sub := range of {
		if sub.client.answers(now) {
			order = append(order, sub)
		} else {
			silent = append(silent, sub)
		}
	}
	return append(order, silent...)
}

// send writes one datagram and reports whether it left. What the system refuses is
// like a datagram that was lost: it is due again later.
func (s *Server) send(d *delivery) bool {
	_, err := s.o.Conn.WriteToUDPAddrPort(d.datagram, d.sub.client.addr)
	switch {
	case err == nil:
		s.metrics.sent.Inc()
	case !errors.Is(err, net.ErrClosed):
		s.metrics.errors.Inc()
	}
	return err == nil
}

// cooled ends the pauses that are over; who changed meanwhile gets another round.
func (s *Server) cooled(now time.Time) {
	for {
		svc, ok := s.cooling.front()
		if !ok || now.Before(svc.coolUntil) {
			return
		}
		s.cooling.pop()
		svc.cooling = false
		if svc.dirty {
			svc.dirty = false
			s.schedule(svc)
			continue
		}
		s.table.dropIfIdle(svc)
	}
}
