// Package shed turns requests away when there are more than the server can answer
// in time, so that what it takes is answered well (server case SB-20). It belongs
// here what decides that; what a request that was turned away is told is the
// HTTP API's business.
package shed

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Kind is what a request is about. Each has places of its own, so that none takes
// those of another.
type Kind int

// The kinds, what is turned away first at the beginning: a client that reads has a
// copy and asks again, one whose change is refused tells its user, and one whose
// beats are not heard is taken for dead.
const (
	Read Kind = iota
	Change
	Beat
	kinds
)

// String is the label in the metrics.
func (k Kind) String() string { return [kinds]string{"read", "change", "beat"}[k] }

const (
	// period is how often the wait is looked at.
	period = 250 * time.Millisecond
	// step is by how much of all reads fewer are turned away then, in percent, or more
	// for each time that the wait is as long as it may be.
	step = 10
	// patience is how many looks in a row must find it too long: a burst ends before, and
	// so does a pause of the process.
	patience = 4
	// fewReads is how many reads a second cost too little to be the load. Where the
	// wait is long all the same, others have the machine, and turning reads away
	// gains nothing.
	fewReads = 100
)

// Options of a [Shedder].
type Options struct {
	// Places is how many changes and how many beats are worked on at the same time,
	// and reads half as many; 0 is no bound. Reading a body and sending an answer
	// take no place: a slow client costs others nothing.
	Places int
	// MaxWait is how long a request may wait for a processor. When they have waited
	// longer for some time, and there are not merely a few reads, more and more of these
	// are turned away, then fewer again. 0 turns none away. Beats and changes are taken
	// all the same: a beat costs as much to refuse as to take.
	MaxWait time.Duration
	// Wait returns how long a request that came now would wait; nil tries it.
	Wait func() time.Duration
	// Registerer gets the metrics; nil registers none.
	Registerer prometheus.Registerer
}

// Shedder decides which requests are taken. It is safe for concurrent use; a nil
// Shedder takes all. Whoever starts one closes it.
type Shedder struct {
	places  [kinds]int64 // 0 is no bound
	active  [kinds]atomic.Int64
	refused atomic.Int64 // percent of the reads
	reads   atomic.Int64 // that came, taken or not
	waited  atomic.Int64 // nanoseconds

	noPlace  [kinds]prometheus.Counter
	waitLong prometheus.Counter

	wait    func() time.Duration
	maxWait time.Duration
	stop    context.CancelFunc // nil until it is started
	watcher sync.WaitGroup
}

// New returns a shedder. It knows its places at once, and the wait once it is started.
func New(o Options) (*Shedder, error) {
	if o.Places < 0 || o.Places == 1 || o.MaxWait < 0 {
		return nil, errors.New("shed: Places must be 2 or more, or 0, and MaxWait must not be negative")
	}
	s := &Shedder{wait: o.Wait, maxWait: o.MaxWait}
	s.places = [kinds]int64{Read: int64(o.Places / 2), Change: int64(o.Places), Beat: int64(o.Places)}
	if err := s.register(o.Registerer); err != nil {
		return nil, err
	}
	if s.wait == nil {
		s.wait = queueWait
	}
	return s, nil
}

// Start begins to watch the wait. It is called once.
func (s *Shedder) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.watcher.Go(func() { s.watch(ctx) })
}

// Close ends the watch, if there is one. Closing again does nothing.
func (s *Shedder) Close() {
	if s.stop != nil {
		s.stop()
	}
	s.watcher.Wait()
}

// Enter takes a request or turns it away. Leave follows on each that was taken.
func (s *Shedder) Enter(k Kind) bool {
	if s == nil {
		return true
	}
	if k == Read && s.tooLong() {
		s.waitLong.Inc()
		return false
	}
	if n := s.active[k].Add(1); s.places[k] > 0 && n > s.places[k] {
		s.active[k].Add(-1)
		s.noPlace[k].Inc()
		return false
	}
	return true
}

// Leave gives the place back.
func (s *Shedder) Leave(k Kind) {
	if s != nil {
		s.active[k].Add(-1)
	}
}

// tooLong says for a read whether it is among those that are turned away because
// of the wait: as many as that are, evenly.
func (s *Shedder) tooLong() bool {
	n, percent := s.reads.Add(1), s.refused.Load()
	return n*percent/100 != (n-1)*percent/100
}

// watch is the shedder's one goroutine.
func (s *Shedder) watch(ctx context.Context) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	long := 0 // so many looks in a row
	looked, reads := time.Now(), s.reads.Load()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		waited := s.wait()
		s.waited.Store(int64(waited))
		if s.maxWait == 0 {
			continue
		}
		now, n := time.Now(), s.reads.Load()
		few := float64(n-reads) < fewReads*now.Sub(looked).Seconds()
		looked, reads = now, n
		if waited > s.maxWait {
			long++
		} else {
			long = 0
		}
		switch percent := s.refused.Load(); {
		case long == 0, few:
			s.refused.Store(max(percent-step, 0))
		case long >= patience:
			s.refused.Store(min(percent+step*int64(waited/s.maxWait), 100))
		}
	}
}
