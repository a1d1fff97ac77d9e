package push

import (
	"slices"
	"time"
)

// throttlePause is how often those are looked at whom the rate to their host
// keeps waiting.
const throttlePause = 10 * time.Millisecond

// held is a subscriber's newest datagram while the rate to its host does not
// allow to send it.
type held struct {
	sequence int64
	datagram []byte
	in       *queue[*subscription]
	place    ticket
}

// hold has a datagram wait for the rate to its host. One that waits already is
// replaced and leaves its place to the newer one, so that a service that keeps
// changing moves nobody to the back.
//
// Who acknowledges what it is sent goes before those who do not: many dead sockets
// of one machine must not hold up its living ones.
func (s *Server) hold(sub *subscription, sequence int64, datagram []byte, now time.Time) {
	s.metrics.limited.Inc()
	if sub.held == nil {
		s.forget(sub) // nobody shall be sent again what is out of date
		h := sub.client.host
		in := &h.silent
		if sub.client.answers(now) {
			in = &h.answering
		}
		sub.held = &held{in: in, place: in.push(sub)}
		s.waiting++
		if h.throttled == nil {
			h.throttled = s.throttled.push(h)
		}
	}
	sub.held.sequence, sub.held.datagram = sequence, datagram
}

// answers says whether a client acknowledges what it is sent, as far as one can
// tell.
func (c *client) answers(now time.Time) bool {
	return c.heard && (c.silentSince.IsZero() || now.Sub(c.silentSince) < ackTimeout)
}

// prefer moves what waits for a client that was just heard to those that answer.
func (s *Server) prefer(c *client) {
	for sub := range c.subscriptions {
		if h := sub.held; h != nil && h.in == &c.host.silent {
			h.in.remove(h.place)
			h.in = &c.host.answering
			h.place = h.in.push(sub)
		}
	}
}

// release ends a subscriber's wait.
func (s *Server) release(sub *subscription) {
	if sub.held == nil {
		return
	}
	sub.held.in.remove(sub.held.place)
	sub.held = nil
	s.waiting--
	if h := sub.client.host; h.answering.len()+h.silent.len() == 0 {
		s.throttled.remove(h.throttled)
		h.throttled = nil
	}
}

// silentShare is of how many datagrams one goes to a client that has not answered
// yet, while others wait: newcomers among them must be found out some time.
const silentShare = 4

// next is whose turn it is of those that wait.
func (h *host) next() (*subscription, bool) {
	first, second := &h.answering, &h.silent
	if h.turn%silentShare == 0 {
		first, second = second, first
	}
	if sub, ok := first.front(); ok {
		return sub, true
	}
	return second.front()
}

// allowed returns what may be sent by now of all that waits.
func (s *Server) allowed(now time.Time) (due []*delivery) {
	for _, h := range slices.Collect(s.throttled.all()) {
		for {
			sub, ok := h.next()
			if !ok {
				break
			}
			if sub.client.unreachable(now) {
				s.drop(sub.client, now)
				continue
			}
			if !h.limiter.AllowN(now, 1) {
				break
			}
			h.turn++
			due = append(due, s.expect(sub, sub.held.sequence, sub.held.datagram, now))
		}
	}
	return due
}
