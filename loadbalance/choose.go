package loadbalance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// Choose picks an instance of a service and avoids those that earlier attempts
// of the same call tried, as long as there are others. Only the first choice for
// a service may wait, within the context, for its list. The caller reports the
// end of its call to Result.Done unless that is nil.
//
// The error is a [*NoInstanceError] when the service has nothing to send to,
// whether its list has nothing usable or could not be had; it is the context's
// when that ended first, and [ErrClosed] after Close.
func (l *LoadBalancer) Choose(ctx context.Context, id registry.ServiceID, tried ...*registry.Instance) (Result, error) {
	r := l.requests.Get().(*Request)
	r.Context, r.Service, r.Tried = ctx, id.Normalize(), tried
	return l.choose(r)
}

// ChooseFor is [LoadBalancer.Choose] for a call of which more is known than its
// service: stages that depend on the request look at its header and URL. The
// request's Context is set to ctx.
func (l *LoadBalancer) ChooseFor(ctx context.Context, r Request) (Result, error) {
	pooled := l.requests.Get().(*Request)
	*pooled = r
	pooled.Context, pooled.Service = ctx, r.Service.Normalize()
	return l.choose(pooled)
}

// choose takes a request of the pool and gives it back.
func (l *LoadBalancer) choose(r *Request) (result Result, err error) {
	if l.closed.Load() {
		l.giveBack(r)
		return Result{}, ErrClosed
	}
	var w *watch
	if lifecycles := l.config.Load().lifecycles; len(lifecycles) > 0 {
		w = newWatch(lifecycles, *r)
	}
	v, snapshot, err := l.look(r.Context, r.Service)
	if err == nil {
		if !v.settings.avoidTried {
			r.Tried = nil
		}
		if result, err = v.pick(r); err == nil {
			v.settings.begin(&result)
			w.chosen(&result)
			l.giveBack(r)
			return result, nil
		}
	}
	switch {
	case snapshot == nil:
		err = l.noList(r.Context, r.Service, err)
	case errors.Is(err, ErrNoInstance):
		err = l.noInstance(r.Context, snapshot)
	default:
		err = fmt.Errorf("choose an instance of %s: %w", r.Service, err)
	}
	w.discarded(err)
	l.giveBack(r)
	return Result{}, err
}

func (l *LoadBalancer) giveBack(r *Request) {
	*r = Request{}
	l.requests.Put(r)
}

// chooseSame is another attempt at the instance of the one before.
func (l *LoadBalancer) chooseSame(ctx context.Context, r Request, before Result) Result {
	r.Context, r.Service = ctx, r.Service.Normalize()
	var w *watch
	if lifecycles := l.config.Load().lifecycles; len(lifecycles) > 0 {
		w = newWatch(lifecycles, r)
	}
	result := Result{Instance: before.Instance, endpoint: before.endpoint}
	before.settings.begin(&result)
	w.chosen(&result)
	return result
}

// begin counts a call in.
func (set *settings) begin(r *Result) {
	r.settings = set
	e := r.endpoint
	if e == nil {
		return
	}
	if s := e.state; set.sameInstance && s.last.Load() != e {
		s.last.Store(e)
	}
	if set.health != nil && !e.state.called.Load() {
		e.state.called.Store(true)
	}
	if !set.tracked {
		return
	}
	e.active.Add(1)
	if theirs := r.Done; theirs != nil {
		r.Done = func(o Outcome) {
			e.end(o)
			theirs(o)
		}
		return
	}
	r.Done = e.done
}

// look returns the newest list and its view. The list may be newer than the one
// that the view was built for, with the same content.
func (l *LoadBalancer) look(ctx context.Context, id registry.ServiceID) (*view, *discovery.Snapshot, error) {
	s := l.services.get(id)
	if s == nil || s.view.Load() == nil {
		return l.first(ctx, id)
	}
	snapshot, err := l.discovery.Snapshot(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	v := s.view.Load()
	if !v.from(snapshot) || v.settings.config != l.config.Load() {
		return l.rebuild(ctx, s)
	}
	if v.version != s.version.Load() || v.until != 0 && l.now() >= v.until {
		// The list is the same: whoever comes while another works it out goes by
		// the view there is.
		if s.mu.TryLock() {
			defer s.mu.Unlock()
			v, err = l.rebuildLocked(s, snapshot)
			return v, snapshot, err
		}
	}
	return v, snapshot, nil
}

// first waits for the first list of a service.
func (l *LoadBalancer) first(ctx context.Context, id registry.ServiceID) (*view, *discovery.Snapshot, error) {
	s := l.services.add(id, l, false)
	if s == nil {
		if !l.directory.has(ctx, id) {
			return nil, nil, errTooManyUnknown
		}
		s = l.services.add(id, l, true)
	}
	s.asked.Store(l.now())
	p, err := l.config.Load().properties.For(id)
	if err != nil {
		return nil, nil, err
	}
	if limit := p.ServiceDiscovery.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errDiscoveryTimeout)
		defer cancel()
	}
	return l.rebuild(ctx, s)
}

var (
	errDiscoveryTimeout = errors.New("no list within service-discovery.timeout")
	errTooManyUnknown   = fmt.Errorf("not looked up, since %d names without instances are being asked for and the registry does not list this one", MaxUnknownServices)
)

// rebuild works out the view of the newest list, once for however many callers
// notice that it is new.
func (l *LoadBalancer) rebuild(ctx context.Context, s *state) (*view, *discovery.Snapshot, error) {
	// The first list is waited for without the lock.
	if _, err := l.discovery.Snapshot(ctx, s.id); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Asked again under the lock, so that a slow caller cannot bring back an
	// older list.
	snapshot, err := l.discovery.Snapshot(ctx, s.id)
	if err != nil {
		return nil, nil, err
	}
	v, err := l.rebuildLocked(s, snapshot)
	return v, snapshot, err
}

func (l *LoadBalancer) rebuildLocked(s *state, snapshot *discovery.Snapshot) (*view, error) {
	v, c := s.view.Load(), l.config.Load()
	var set *settings
	switch {
	case v == nil || v.settings.config != c:
		var err error
		if set, err = l.compile(c, s.id); err != nil {
			return nil, err
		}
	case v.from(snapshot) && v.version == s.version.Load() && (v.until == 0 || l.now() < v.until):
		return v, nil
	default:
		set = v.settings
	}
	if v == nil && strings.Contains(s.id.Name, "_") {
		l.log.Warn("java callers cannot name this service in a URL, because of the underscore",
			slog.String("service", s.id.String()))
	}
	s.endOtherChecks(set.health)
	next := s.build(set, snapshot)
	s.check(next)
	s.view.Store(next)
	l.services.classify(s, len(snapshot.Instances) > 0)
	l.log.Debug("candidates changed", slog.String("service", s.id.String()),
		slog.Uint64("revision", snapshot.Revision), slog.Int("known", len(snapshot.Instances)),
		slog.Int("usable", len(next.usable.candidates)))
	return next, nil
}

// reconfigure applies another configuration to what runs for the service; its
// view is made anew by the next call.
func (s *state) reconfigure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.balancer
	v := s.view.Load()
	if v == nil || s.retired {
		return
	}
	if _, err := l.rebuildLocked(s, v.snapshot); err != nil {
		l.log.Error("a service keeps its former chain", slog.String("service", s.id.String()), slog.Any("error", err))
	}
}

// noList turns discovery's error into the one of Choose.
func (l *LoadBalancer) noList(ctx context.Context, id registry.ServiceID, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("choose an instance: %w", err)
	case errors.Is(err, discovery.ErrClosed):
		return fmt.Errorf("choose an instance of %s: %w", id, err)
	}
	return &NoInstanceError{Service: id, Err: err}
}

// Do calls f with an instance of a service and reports how it ended: the way by
// name for everything that is not HTTP. It makes one attempt, since only f knows
// whether a second would be safe; callers that want one use [LoadBalancer.Choose].
func (l *LoadBalancer) Do(ctx context.Context, id registry.ServiceID, f func(context.Context, *registry.Instance) error) error {
	chosen, err := l.Choose(ctx, id)
	if err != nil {
		return err
	}
	outcome := Outcome{Err: errPanicked}
	if chosen.Done != nil {
		began := time.Now()
		defer func() {
			outcome.Latency = time.Since(began)
			chosen.Done(outcome)
		}()
	}
	outcome.Err = f(ctx, chosen.Instance)
	outcome.CallerLeft = outcome.Err != nil && ctx.Err() != nil
	return outcome.Err
}

// errPanicked is the outcome of a call that did not return.
var errPanicked = errors.New("the call panicked")
