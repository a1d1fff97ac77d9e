package probe

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Prober probes targets until they are taken away. All its methods may be called
// concurrently.
type Prober struct {
	o       Options
	metrics *metrics
	wake    chan struct{}
	ctx     context.Context // of all probes
	cancel  context.CancelFunc
	running sync.WaitGroup // the scheduler and the workers

	mu       sync.Mutex
	closed   bool
	onResult func(Result) error
	clusters map[Cluster]*cluster
	targets  int
	schedule schedule

	// What is due waits in one of two lanes.
	brisk, slow lane
	workers     int // that exist
	busySlow    int // of them with a target of the slow lane
}

// New starts a prober without targets. The caller closes it.
func New(o Options) (*Prober, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Prober{
		o:        o,
		wake:     make(chan struct{}, 1),
		onResult: func(Result) error { return nil },
		clusters: make(map[Cluster]*cluster),
	}
	if p.metrics, err = newMetrics(p, o.Registerer); err != nil {
		return nil, err
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.running.Go(p.run)
	return p, nil
}

// Close ends all probes and waits for their workers, which takes as long as a
// function that was given to OnResult and no more than moments otherwise. It may
// be called more than once.
func (p *Prober) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.running.Wait()
	return nil
}

// OnResult sets the function that is told of changes of health; it comes before
// the first Set. It is called on a worker, for one target never twice at the same
// time, holds up that worker only, and may call Set and Remove. A target may have
// been removed when it is called. When it returns an error, the change counts as
// not made and is told again after the next probe that shows it.
func (p *Prober) OnResult(f func(Result) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onResult = f
}

// Set makes targets the instances of a cluster that are probed, and all of them:
// who was there and is no longer is forgotten. Those who stay keep their place in
// the schedule and, as long as Healthy is what was found last, their count; a new
// checker or check port starts all anew. They are asked at checkPort, or for 0 at
// their own ports. A checker of type [None] has no targets. The error is a
// [wire.BadRequest] for a checker that no probe can be made of, and nothing is
// changed then. A closed prober takes no targets.
func (p *Prober) Set(key Cluster, checker Checker, checkPort int, targets []Target) error {
	longest := p.o.Params().TCP.Max
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	c := p.clusters[key]
	if c == nil || c.checker != checker || c.checkPort != checkPort {
		asker, err := newAsker(checker)
		if err != nil {
			return err
		}
		p.forget(c)
		c = &cluster{key: key, checker: checker, checkPort: checkPort, kind: checker.kind(), asker: asker}
	}
	if c.asker == nil || len(targets) == 0 {
		p.forget(c)
		return nil
	}
	p.clusters[key] = c
	p.replace(c, targets, longest)
	return nil
}

// Remove ends the probes of a cluster.
func (p *Prober) Remove(key Cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(p.clusters[key])
}

// replace gives a cluster its new targets.
func (p *Prober) replace(c *cluster, targets []Target, longest time.Duration) {
	now := time.Now()
	current := make(map[address]*target, len(targets))
	for _, given := range targets {
		a := address{given.IP, given.Port}
		t := c.targets[a]
		if t == nil {
			t = current[a] // given twice
		}
		if t == nil {
			t = c.newTarget(given, p.firstInterval(longest))
			p.plan(t, now)
		}
		t.adopt(given.Healthy)
		current[a] = t
	}
	for a, t := range c.targets {
		if current[a] == nil {
			p.drop(t)
		}
	}
	p.targets += len(current) - len(c.targets)
	c.targets = current
}

// firstInterval spreads the first probes over seconds: 2 s and a random part of a
// random part of the longest TCP interval, as in Nacos.
func (p *Prober) firstInterval(longest time.Duration) time.Duration {
	return 2*time.Second + time.Duration(p.o.Rand()*p.o.Rand()*float64(longest))
}

// forget ends the probes of a cluster that may be nil.
func (p *Prober) forget(c *cluster) {
	if c == nil {
		return
	}
	for _, t := range c.targets {
		p.drop(t)
	}
	p.targets -= len(c.targets)
	c.targets = nil
	if p.clusters[c.key] == c {
		delete(p.clusters, c.key)
	}
}

func (p *Prober) drop(t *target) {
	t.gone = true
	p.schedule.remove(t)
}

// plan puts a target's next probe into the schedule.
func (p *Prober) plan(t *target, now time.Time) {
	t.scheduled, t.due = now, now.Add(t.interval)
	p.schedule.add(t)
	if t.index == 0 {
		p.poke()
	}
}

// poke makes the scheduler look again.
func (p *Prober) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run is the one goroutine that waits for what is due.
func (p *Prober) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
		timer.Reset(p.dispatch())
	}
}

// dispatch hands out what is due and returns how long nothing more will be.
func (p *Prober) dispatch() time.Duration {
	const longest = time.Minute
	params := p.o.Params()
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.schedule) > 0 && !p.schedule[0].due.After(now) {
		t := p.schedule[0]
		p.schedule.remove(t)
		switch {
		case !params.probes(t.cluster.key.Service):
			p.plan(t, now)
		case t.slow:
			p.slow.push(t)
		default:
			p.brisk.push(t)
		}
	}
	for range p.brisk.len() + min(p.slow.len(), p.slowWorkers()-p.busySlow) {
		if p.workers == p.o.Workers {
			break
		}
		p.workers++
		p.running.Go(p.work)
	}
	if len(p.schedule) == 0 {
		return longest
	}
	return min(p.schedule[0].due.Sub(now), longest)
}

// slowWorkers is how many workers targets may hold whose last probe took long;
// the rest is always there for the others.
func (p *Prober) slowWorkers() int { return max(1, p.o.Workers*3/4) }

// work probes until nothing is waiting.
func (p *Prober) work() {
	for {
		t, slow := p.take()
		if t == nil {
			return
		}
		start := time.Now()
		v := t.cluster.asker.ask(p.ctx, p.o.Dial, t.dial)
		p.finish(t, slow, v, time.Since(start))
	}
}

// take returns the next target that waits; nil ends the worker.
func (p *Prober) take() (t *target, slow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		// The slow lane comes first, and what it may hold is bounded: so neither
		// starves the other.
		if p.busySlow < p.slowWorkers() {
			if t = p.slow.pop(); t != nil {
				p.busySlow++
				return t, true
			}
		}
		if t = p.brisk.pop(); t != nil {
			return t, false
		}
	}
	p.workers--
	return nil, false
}

// finish judges a probe, tells of a change, and plans the next probe.
func (p *Prober) finish(t *target, slow bool, v verdict, took time.Duration) {
	params := p.o.Params()
	p.mu.Lock()
	if slow {
		p.busySlow--
	}
	if p.ctx.Err() != nil || t.gone {
		p.mu.Unlock()
		return // cut short, it says nothing
	}
	p.metrics.probed(t.cluster.kind, v.outcome)
	t.adapt(v, took, params.interval(t.cluster.kind), time.Now())
	change := t.judge(v, params.CheckTimes)
	result := Result{Cluster: t.cluster.key, IP: t.address.ip, Port: t.address.port, Healthy: !t.healthy}
	tell := p.onResult
	p.mu.Unlock()

	if change {
		p.poke() // this worker may be held up, and what waits can have another
		change = p.tell(tell, result, v)
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	if t.gone || p.closed {
		return
	}
	if change {
		t.adopt(result.Healthy)
	}
	p.plan(t, time.Now())
}

// tell reports a change and says whether it was taken.
func (p *Prober) tell(f func(Result) error, r Result, v verdict) bool {
	attrs := []slog.Attr{
		slog.String("service", r.Cluster.Service.String()), slog.String("cluster", r.Cluster.Name),
		slog.String("ip", r.IP), slog.Int("port", r.Port), slog.Bool("healthy", r.Healthy),
		slog.String("outcome", string(v.outcome)),
	}
	if err := f(r); err != nil {
		p.metrics.untold.Inc()
		p.o.Logger.LogAttrs(p.ctx, slog.LevelWarn, "a change of health was not taken, it is told again with the next probe",
			append(attrs, slog.Any("error", fmt.Errorf("report a probe: %w", err)))...)
		return false
	}
	p.metrics.changed(r.Healthy)
	p.o.Logger.LogAttrs(p.ctx, slog.LevelInfo, "health changed by a probe", attrs...)
	return true
}
