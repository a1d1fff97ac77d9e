package push

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// delivery is a datagram on its way to one subscriber: from its first sending
// until it is acknowledged, replaced by a newer one, or given up.
type delivery struct {
	sub      *subscription
	id       ackID
	datagram []byte // shared by the subscribers of a round
	sends    int
	due      time.Time
	waiting  ticket
}

// ackID is what an acknowledgement is recognised by.
type ackID struct {
	from     netip.AddrPort
	sequence int64
}

const (
	// firstRefusal is how long a client that was dropped twice in a row without a
	// sign of life is told to poll; it doubles up to maxRefusal.
	firstRefusal = 30 * time.Second
	maxRefusal   = 10 * time.Minute

	// rememberFailures is how long a dropped client's failures are remembered.
	rememberFailures = 2 * maxRefusal
)

// expect notes that a subscriber is about to be sent a datagram, in place of
// whatever it was sent before.
func (s *Server) expect(sub *subscription, sequence int64, datagram []byte, now time.Time) *delivery {
	s.forget(sub)
	d := &delivery{
		sub:      sub,
		id:       ackID{from: sub.client.addr, sequence: sequence},
		datagram: datagram,
		sends:    1,
		due:      now.Add(ackTimeout),
	}
	d.waiting = s.unacked.push(d)
	s.pending[d.id] = d
	sub.pending = d
	if sub.client.silentSince.IsZero() {
		sub.client.silentSince = now
	}
	return d
}

// forget drops what a subscriber has not acknowledged, or was to be sent.
func (s *Server) forget(sub *subscription) {
	s.release(sub)
	if d := sub.pending; d != nil {
		sub.pending = nil
		delete(s.pending, d.id)
		s.unacked.remove(d.waiting)
	}
}

// overdue sends again what has waited long enough, and gives up what was sent
// often enough.
func (s *Server) overdue(now time.Time) (again []*delivery) {
	for {
		d, ok := s.unacked.front()
		if !ok || now.Before(d.due) {
			return again
		}
		if d.sends < maxSends {
			d.sends++
			d.due = now.Add(ackTimeout)
			s.unacked.again(d.waiting)
			if d.sub.client.host.limiter.AllowN(now, 1) {
				again = append(again, d)
			} else { // like one that was lost
				s.metrics.limited.Inc()
			}
			continue
		}
		s.metrics.failed.Inc()
		s.tally.failed.Add(1)
		s.forget(d.sub)
		if c := d.sub.client; c.unreachable(now) {
			s.drop(c, now)
		}
	}
}

// unreachable reports whether a client has been silent for as long as one
// datagram is tried. Newer states replace pending ones, so that the fate of one
// datagram alone would not show it.
func (c *client) unreachable(now time.Time) bool {
	return !c.silentSince.IsZero() && now.Sub(c.silentSince) >= maxSends*ackTimeout
}

// drop ends all subscriptions of a client that cannot be reached. It may come
// back with its next list request: at once the first time, later after a pause
// that grows, in which it polls at the interval of clients that are not pushed to.
func (s *Server) drop(c *client, now time.Time) {
	for sub := range c.subscriptions {
		s.forget(sub)
		s.table.removeSubscription(sub)
	}
	c.silentSince, c.heard = time.Time{}, false
	c.failures++
	s.metrics.dropped.Inc()
	s.o.Logger.Debug("push client dropped, it acknowledges nothing", "address", c.addr, "times", c.failures)
	if c.failures > 1 {
		c.refusedUntil = now.Add(min(firstRefusal<<min(c.failures-2, 10), maxRefusal))
	}
	s.leave(c, now)
}

// expire ends the subscriptions nobody asked for any more.
func (s *Server) expire(now time.Time) {
	life := s.o.life()
	for {
		sub, ok := s.table.alive.front()
		if !ok || now.Sub(sub.seen) < life {
			break
		}
		s.forget(sub)
		s.table.removeSubscription(sub)
		if len(sub.client.subscriptions) == 0 {
			s.leave(sub.client, now)
		}
	}
	for {
		c, ok := s.lingering.front()
		if !ok || now.Sub(c.left) < rememberFailures && s.lingering.len() <= s.o.MaxSubscriptions/4 {
			break
		}
		s.lingering.remove(c.lingering)
		s.table.removeClient(c)
	}
}

// leave lets go of a client without subscriptions: at once, or later when its
// failures are worth remembering.
func (s *Server) leave(c *client, now time.Time) {
	if c.failures == 0 {
		s.table.removeClient(c)
		return
	}
	c.left = now
	c.lingering = s.lingering.push(c)
}

// acknowledged takes an acknowledgement. One of a datagram that was replaced
// meanwhile proves that its sender can be reached all the same.
func (s *Server) acknowledged(from netip.AddrPort, sequence int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.table.clients[from]
	if c == nil || sequence < s.firstSequence || sequence > s.lastSequence {
		s.metrics.unmatched.Inc()
		return
	}
	c.silentSince, c.failures, c.refusedUntil = time.Time{}, 0, time.Time{}
	if !c.heard {
		c.heard = true
		s.prefer(c)
	}
	if c.lingering != nil {
		s.lingering.remove(c.lingering)
		c.lingering = nil
		s.table.removeClient(c)
	}
	d := s.pending[ackID{from, sequence}]
	if d == nil {
		s.metrics.unmatched.Inc()
		return
	}
	s.forget(d.sub)
	s.metrics.acked.Inc()
	s.tally.acked.Add(1)
}

// read takes acknowledgements until the socket is closed.
func (s *Server) read(ctx context.Context) {
	buf := make([]byte, 64<<10)
	for ctx.Err() == nil {
		n, from, err := s.o.Conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Some systems report a peer's closed port here; none of it is worth a
			// log line each, and none of it may become a busy loop.
			s.metrics.errors.Inc()
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		ack, err := wire.DecodeAck(buf[:n])
		if err != nil {
			s.metrics.unmatched.Inc()
			continue
		}
		s.acknowledged(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), ack.LastRefTime)
	}
}
