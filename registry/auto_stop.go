package registry

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// Stop takes the registration back and returns when the web server may stop
// accepting: state stopping at once, then deregistering within
// DeregisterTimeout, then the drain (rule A-R7). It ends a start in progress
// and attempts in the background. A second call waits for the first.
//
// Failures on the way are logged and kept in LastError: nothing stops a stop,
// and the only error returned is that of a second call's context. The context
// bounds the drain, less the options' ShutdownReserve; deregistering is
// attempted once even if the context is done already (rule A-R10).
func (a *AutoServiceRegistration) Stop(ctx context.Context) error {
	if !a.beginStop() {
		select {
		case <-a.stopped:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer a.finishStop()

	early, whole, release := a.deregisterContexts(ctx)
	defer release()
	giveBack := a.join(early)
	defer giveBack()
	live, err := a.withdraw(early, whole)
	a.mu.Lock()
	a.lastErr = err
	former := slices.Clone(a.former)
	a.mu.Unlock()
	for _, r := range former {
		a.logFailure(whole, a.dropInstance(whole, r))
	}
	if live {
		a.drain(ctx)
	}
	return nil
}

// CutDrain ends a drain in progress and the one of a Stop still to come; the
// second signal to stop calls it (rule A-R10).
func (a *AutoServiceRegistration) CutDrain() { a.drainCut() }

func (a *AutoServiceRegistration) beginStop() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == StateStopping || a.state == StateStopped {
		return false
	}
	a.state = StateStopping
	a.endLife()
	return true
}

func (a *AutoServiceRegistration) finishStop() {
	a.mu.Lock()
	a.state = StateStopped
	a.mu.Unlock()
	close(a.stopped)
}

// deregisterContexts returns the two bounds of a deregistration, neither of
// which ends with ctx: whole for all of it, early for what comes before the
// call to the registry, so that the call always has half of the time.
func (a *AutoServiceRegistration) deregisterContexts(ctx context.Context) (early, whole context.Context, release func()) {
	timeout := a.options.DeregisterTimeout
	whole, releaseWhole := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	early, releaseEarly := context.WithTimeout(whole, timeout/2)
	return early, whole, func() { releaseEarly(); releaseWhole() }
}

// join waits for the start or attempt that runs, which ends with life, and for
// the background. Something that ignores its context is left behind when ctx
// is done.
func (a *AutoServiceRegistration) join(ctx context.Context) (giveBack func()) {
	giveBack, err := a.turn.take(ctx)
	if err != nil {
		a.logger.WarnContext(ctx, "stopping while an attempt to register does not end", failure(err))
		return func() {}
	}
	a.mu.Lock()
	background := a.background
	a.mu.Unlock()
	if background != nil {
		<-background // it waits for nothing but the turn, and life has ended
	}
	return giveBack
}

// withdraw deregisters whatever may have reached the registry (rule A-R9), with
// all hooks, and reports whether the registry had accepted it. All errors are
// logged; that of the call to the registry is returned to be remembered.
func (a *AutoServiceRegistration) withdraw(early, whole context.Context) (wasLive bool, err error) {
	a.mu.Lock()
	r, reached, wasLive := a.current, a.reached, a.live
	a.reached, a.live = false, false
	a.mu.Unlock()
	if !reached {
		return false, nil
	}

	for _, h := range a.hooks {
		a.logFailure(early, guard("hook "+h.Name()+" before deregistering", func() error {
			return h.BeforeDeregister(early, r.clone())
		}))
	}
	r, err = a.callDeregister(early, whole)
	if wasLive {
		a.logFailure(whole, err)
	} else if err != nil {
		// The registry never said that it has the instance, and why it does not has
		// been told: that it does not answer now either is no news.
		a.logger.DebugContext(whole, "taking back what may not have arrived", failure(err))
	}
	for _, h := range a.hooks {
		a.logFailure(whole, guard("hook "+h.Name()+" after deregistering", func() error {
			return h.AfterDeregister(whole, r.clone())
		}))
	}
	a.announce(whole, InstanceDeregistered{Registration: r.clone(), Err: err})
	if err == nil {
		a.logger.InfoContext(whole, "deregistered", registrationAttr(r))
	}
	return wasLive, err
}

// callDeregister waits for a change in flight, which otherwise could bring the
// instance back, and makes the call even if that does not end. It returns what was
// registered in the end.
func (a *AutoServiceRegistration) callDeregister(early, whole context.Context) (Registration, error) {
	if giveBack, err := a.calls.take(early); err == nil {
		defer giveBack()
	}
	a.mu.Lock()
	r := a.current.clone()
	a.mu.Unlock()
	return r, call("deregister", r, func() error {
		return a.registry.Deregister(whole, r.clone())
	})
}

// drain goes on serving for a while: callers still have the instance in their
// lists.
func (a *AutoServiceRegistration) drain(ctx context.Context) {
	wait := a.options.Drain
	if deadline, bounded := ctx.Deadline(); bounded {
		wait = min(wait, time.Until(deadline)-a.options.ShutdownReserve)
	}
	if wait <= 0 {
		return
	}
	a.logger.InfoContext(ctx, "draining", slog.Duration("for", wait))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.cut:
	case <-ctx.Done():
	}
}

func (a *AutoServiceRegistration) logFailure(ctx context.Context, err error) {
	if err != nil {
		a.logger.ErrorContext(ctx, "taking the registration back failed", failure(err))
	}
}
