package push

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Server pushes changes of services to their subscribers. All its methods may be
// called concurrently.
type Server struct {
	o       Options
	metrics *metrics
	tally   tally
	wake    chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	table     table
	ready     queue[*service]  // waiting for a round
	cooling   queue[*service]  // had one less than a window ago
	unacked   queue[*delivery] // sent and not acknowledged
	pending   map[ackID]*delivery
	lingering queue[*client] // dropped clients whose failures are remembered
	throttled queue[*host]   // whose rate keeps somebody waiting
	waiting   int            // subscriptions that wait for it

	// Datagrams are numbered upwards from the time of the start in microseconds:
	// unique across restarts, and below 2^53, as one client reads the number as
	// a floating-point one.
	firstSequence, lastSequence int64
}

// New starts a server on o.Conn. The caller closes the server, and the server
// the socket, also when New fails.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		o:       o,
		wake:    make(chan struct{}, 1),
		cancel:  cancel,
		table:   newTable(),
		pending: make(map[ackID]*delivery),
	}
	s.firstSequence = time.Now().UnixMicro()
	s.lastSequence = s.firstSequence - 1
	s.metrics, err = newMetrics(s, o.Registerer)
	if err != nil {
		cancel()
		_ = o.Conn.Close()
		return nil, err
	}
	s.running.Go(func() { s.run(ctx) })
	s.running.Go(func() { s.read(ctx) })
	return s, nil
}

// Close stops pushing and waits for both goroutines to end. It may be called
// more than once.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	var err error
	if first {
		s.cancel()
		err = s.o.Conn.Close()
	}
	s.running.Wait()
	return err
}

// Change says that a service has a new state, which must already be what the
// [Source] answers. It never waits for anything that is sent.
func (s *Server) Change(k wire.ServiceKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	svc := s.table.services[k]
	switch {
	case svc == nil || svc.scheduled:
		return
	case svc.cooling:
		if !svc.dirty {
			svc.dirty, svc.changed = true, time.Now()
		}
		return
	}
	svc.changed = time.Now()
	s.schedule(svc)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Server) schedule(svc *service) {
	svc.scheduled = true
	s.ready.push(svc)
}

// run is the one goroutine that sends.
func (s *Server) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		now := time.Now()
		s.mu.Lock()
		s.expire(now)
		again, held := s.overdue(now), s.allowed(now)
		s.cooled(now)
		s.mu.Unlock()
		for _, d := range again {
			s.metrics.retried.Inc()
			s.send(d)
		}
		for _, d := range held {
			s.send(d)
		}
		for ctx.Err() == nil && s.round() {
		}
		timer.Reset(s.untilNext())
	}
}

// untilNext returns how long nothing will be due unless something changes.
func (s *Server) untilNext() time.Duration {
	const longest = time.Minute
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	next := now.Add(longest)
	earlier := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	if svc, ok := s.cooling.front(); ok {
		earlier(svc.coolUntil)
	}
	if d, ok := s.unacked.front(); ok {
		earlier(d.due)
	}
	if s.waiting > 0 {
		earlier(now.Add(throttlePause))
	}
	if sub, ok := s.table.alive.front(); ok {
		earlier(sub.seen.Add(s.o.life()))
	}
	return max(next.Sub(now), 0)
}
