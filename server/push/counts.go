package push

import "sync/atomic"

// Counts are datagrams whose fate is known, since the start.
type Counts struct {
	// Acked were acknowledged, Failed were given up.
	Acked, Failed uint64
}

// tally keeps the counts.
type tally struct{ acked, failed atomic.Uint64 }

// Counts returns the datagrams whose fate is known.
func (s *Server) Counts() Counts {
	return Counts{Acked: s.tally.acked.Load(), Failed: s.tally.failed.Load()}
}

// Pending is a datagram that was sent and not acknowledged yet.
type Pending struct {
	Subscriber
	// Sequence is the datagram's number.
	Sequence int64
	// Sends is how often it was sent.
	Sends int
}

// Pending returns datagrams that wait for an acknowledgement, oldest first, at
// most so many. It is meant for operators.
func (s *Server) Pending(most int) []Pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Pending, 0, min(most, s.unacked.len()))
	for d := range s.unacked.all() {
		if len(all) == most {
			break
		}
		all = append(all, Pending{d.sub.subscriber(), d.id.sequence, d.sends})
	}
	return all
}
