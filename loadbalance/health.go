package loadbalance

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

const (
	// maxProbes bounds the probes that a balancer has under way (client rule D-R5).
	maxProbes = 16
	// probeJitter is the share by which an interval is randomly longer or shorter.
	probeJitter = 0.1
	// probeFor is how long a service is probed after it was called last.
	probeFor = 5 * time.Minute
	// maxProbeBody is how much of an answer is read so that its connection can be
	// used again.
	maxProbeBody = 64 << 10
)

// Verdicts of the probes.
const (
	notProbed int32 = iota
	probedUp
	probedDown
)

// healthSettings is a service's part of [HealthCheckProperties]. It is
// comparable.
type healthSettings struct {
	path                   string // "": not probed
	port                   int
	initialDelay, interval time.Duration
	timeout, refetch       time.Duration // refetch 0: never
	once, immediate        bool
	toDown, toUp           int
	failOpen               bool
}

func newHealthSettings(p HealthCheckProperties, id registry.ServiceID) *healthSettings {
	h := &healthSettings{
		path: forService(p.Path, id, DefaultHealthPath), port: p.Port,
		initialDelay: p.InitialDelay, interval: p.Interval, timeout: min(p.Timeout, p.Interval),
		once: !p.RepeatHealthCheck, immediate: p.UpdateResultsList,
		toDown: p.UnhealthyThreshold, toUp: p.HealthyThreshold, failOpen: p.FailOpen,
	}
	if p.RefetchInstances {
		h.refetch = p.RefetchInstancesInterval
	}
	return h
}

// healthStage leaves out the instances that probes found down. One that was not
// probed yet counts as alive. When none is, all are used (client rule D-R4).
func healthStage(h *healthSettings, failedOpen func(registry.ServiceID)) Stage {
	return Stage{name: StageHealthCheck, rank: rankAlive, list: func(b *builder, s stock) []Candidate {
		alive := keep(s.candidates, func(c *Candidate) bool { return c.endpoint.probed.Load() != probedDown })
		if len(alive) == 0 && len(s.candidates) > 0 && h.failOpen {
			if !b.rehearsal {
				failedOpen(b.view.state.id)
			}
			return s.candidates
		}
		return alive
	}}
}

// checker probes the instances of one service, in a goroutine of its own that
// ends with the balancer, when the service is no longer called, or when it is
// configured away.
type checker struct {
	state *state
	set   healthSettings
	stop  context.CancelFunc
	wake  chan struct{}

	mu      sync.Mutex
	targets map[*endpoint]*target
}

// target is an instance that is probed.
type target struct {
	secure bool
	streak int  // results in a row that contradict the verdict
	probed bool // at least once
}

// endOtherChecks ends the probes that the settings do not want any more and
// forgets what they found. The state's lock is held.
func (s *state) endOtherChecks(h *healthSettings) {
	if s.checker != nil && (h == nil || s.checker.set != *h) {
		s.endChecks()
	}
}

// check starts the probes of a service, or says to them which instances there
// are. The state's lock is held.
func (s *state) check(v *view) {
	h := v.settings.health
	if h == nil || h.path == "" || s.retired {
		return
	}
	if s.checker == nil {
		ctx, stop := context.WithCancel(s.balancer.life)
		s.checker = &checker{state: s, set: *h, stop: stop, wake: make(chan struct{}, 1), targets: map[*endpoint]*target{}}
		c := s.checker
		s.called.Store(true)
		if !s.balancer.run(func() { c.work(ctx) }) {
			stop()
			s.checker = nil
			return
		}
	}
	s.checker.aim(v)
}

func (s *state) endChecks() {
	if s.checker == nil {
		return
	}
	s.checker.stop()
	s.checker = nil
	for _, e := range s.endpoints {
		e.probed.Store(notProbed)
	}
}

// aim says which instances there are now.
func (c *checker) aim(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := make(map[*endpoint]*target, len(v.usable.candidates))
	joined := false
	for n := range v.usable.candidates {
		candidate := &v.usable.candidates[n]
		t := c.targets[candidate.endpoint]
		if t == nil {
			t, joined = &target{}, true
		}
		t.secure = candidate.Instance.Secure()
		next[candidate.endpoint] = t
	}
	c.targets = next
	if joined {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// work goes round until its context ends.
func (c *checker) work(ctx context.Context) {
	var refetch <-chan time.Time
	if c.set.refetch > 0 {
		ticker := time.NewTicker(c.set.refetch)
		defer ticker.Stop()
		refetch = ticker.C
	}
	begun := false
	due := time.NewTimer(c.set.initialDelay)
	defer due.Stop()
	called := time.Now()
	for {
		all := false
		select {
		case <-ctx.Done():
			return
		case <-refetch:
			// The list of a service that nobody calls is worked out here.
			_, _, _ = c.state.balancer.look(ctx, c.state.id) // an outage leaves the old one
			continue
		case <-c.wake:
			// Who joined is probed at once, the others at their time.
			if !begun {
				continue
			}
		case <-due.C:
			begun, all = true, !c.set.once
			due.Reset(c.pause())
			if c.state.called.Swap(false) || refetch != nil {
				called = time.Now()
			} else if time.Since(called) > probeFor {
				c.leave()
				return
			}
		}
		c.round(ctx, all)
	}
}

// leave ends the probes of a service that nobody calls; the next call begins them
// again.
func (c *checker) leave() {
	s := c.state
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checker == c {
		s.endChecks()
		s.version.Add(1)
	}
}

// pause is the time to the next round.
func (c *checker) pause() time.Duration {
	jitter := 1 + probeJitter*(2*c.state.balancer.rand()-1)
	return time.Duration(float64(c.set.interval) * jitter)
}

// round probes all instances, or those that never were.
func (c *checker) round(ctx context.Context, all bool) {
	c.mu.Lock()
	var due []*endpoint
	for e, t := range c.targets {
		if all || !t.probed {
			due = append(due, e)
			t.probed = true
		}
	}
	c.mu.Unlock()
	var wg sync.WaitGroup
	var changed atomic.Bool
	for _, e := range due {
		select {
		case c.state.balancer.probes <- struct{}{}:
		case <-ctx.Done():
			wg.Wait()
			return
		}
		wg.Go(func() {
			alive := c.probe(ctx, e)
			<-c.state.balancer.probes
			switch {
			case ctx.Err() != nil || !c.judge(e, alive):
			case c.set.immediate:
				c.state.version.Add(1)
			default:
				changed.Store(true)
			}
		})
	}
	wg.Wait()
	if changed.Load() {
		c.state.version.Add(1)
	}
}

// judge takes in one result and reports whether the verdict changed.
func (c *checker) judge(e *endpoint, alive bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.targets[e]
	if t == nil {
		return false // it left
	}
	down := e.probed.Load() == probedDown
	if alive != down {
		t.streak = 0
		if alive {
			e.probed.Store(probedUp)
		}
		return false
	}
	t.streak++
	verdict, needed := probedDown, c.set.toDown
	if alive {
		verdict, needed = probedUp, c.set.toUp
	}
	if t.streak < needed {
		return false
	}
	t.streak = 0
	e.probed.Store(verdict)
	c.state.balancer.log.Info("probe changed an instance", slog.String("service", c.state.id.String()),
		slog.String("instance", e.host), slog.Bool("alive", alive))
	return true
}

// probe asks one instance; any 2xx is an answer of a living one.
func (c *checker) probe(ctx context.Context, e *endpoint) bool {
	c.mu.Lock()
	t := c.targets[e]
	secure := t != nil && t.secure
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, c.set.timeout)
	defer cancel()
	scheme, host := schemeHTTP, e.host
	if secure {
		scheme = schemeHTTPS
	}
	if c.set.port > 0 {
		host = net.JoinHostPort(strings.Trim(e.ip, "[]"), strconv.Itoa(c.set.port))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host+c.set.path, nil)
	if err != nil {
		return false
	}
	resp, err := c.state.balancer.prober().RoundTrip(req)
	if err != nil {
		return false
	}
	_, readErr := io.Copy(io.Discard, io.LimitReader(resp.Body, maxProbeBody))
	closeErr := resp.Body.Close()
	return readErr == nil && closeErr == nil && resp.StatusCode >= 200 && resp.StatusCode < 300
}
