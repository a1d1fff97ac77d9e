package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// OnWebServerStarted tells that a web server listens; the application's event
// bus calls it. The first server of the application gives the port of a
// registration that has none; a management server is ignored (rule A-R3). With
// [WhenListening] it registers, and its error is that of [AutoServiceRegistration.Start].
func (a *AutoServiceRegistration) OnWebServerStarted(ctx context.Context, e WebServerStarted) error {
	if e.Namespace == NamespaceManagement {
		return nil
	}
	a.mu.Lock()
	if a.webPort == 0 {
		a.webPort = listenerPort(e.Addr)
	}
	a.mu.Unlock()
	if !a.options.Enabled || a.options.When != WhenListening {
		return nil
	}
	return a.start(ctx, a.options.Delay)
}

// Start registers, as the last step of the application's start, unless that was
// done when the web server listened or is left to [AutoServiceRegistration.Register].
// An application without a web server registers if the template has a port
// (rule A-R11), and else does not register at all.
//
// With FailFast a failure is returned, after whatever may have reached the
// registry was taken back. Without it, attempts go on in the background until
// one succeeds or Stop is called, and Start returns nil, with half of the
// context's time to spare. A registration that can never succeed is an error
// either way.
func (a *AutoServiceRegistration) Start(ctx context.Context) error {
	switch {
	case !a.options.Enabled:
		a.logger.DebugContext(ctx, "automatic registration is disabled")
		return nil
	case a.options.When == WhenManual:
		return nil
	case a.port() == 0:
		a.logger.InfoContext(ctx, "not registering: there is no web server and no port is set",
			slog.String("key", keyPort))
		return nil
	}
	return a.start(ctx, a.options.Delay)
}

// Register registers at once, whatever the options' moment and delay, and
// otherwise as Start does. It returns [ErrDisabled] if the feature is off and
// [ErrInvalidRegistration] if there is no port.
func (a *AutoServiceRegistration) Register(ctx context.Context) error {
	if !a.options.Enabled {
		return ErrDisabled
	}
	return a.start(ctx, 0)
}

// Renew registers once more what is registered, as another attempt: for a registry
// that may not know of it, such as one that is reached at other addresses now.
// Where it fails, the error is returned, and attempts go on in the background
// unless none can succeed; State and LastError tell of them. It does nothing
// before the first attempt, or while attempts go on.
func (a *AutoServiceRegistration) Renew(ctx context.Context) error {
	giveBack, err := a.turn.take(ctx)
	if err != nil {
		return fmt.Errorf("wait for a start or stop in progress: %w", err)
	}
	defer giveBack()
	switch state := a.State(); {
	case a.life.Err() != nil:
		return ErrStopped
	case a.trying(), state != StateRegistered && state != StateFailed:
		return nil
	}
	err = a.attempt(ctx)
	if err == nil || a.life.Err() != nil || errors.Is(err, ErrInvalidRegistration) {
		return err
	}
	a.logRetry(ctx, err)
	a.tryInBackground(0)
	return err
}

// port returns the explicit port, else the web server's, else 0 (rule A-R2).
func (a *AutoServiceRegistration) port() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.runtime.port != nil:
		return *a.runtime.port
	case a.template.Port != 0:
		return a.template.Port
	}
	return a.webPort
}

// listenedPort returns the web server's port, 0 until it listens.
func (a *AutoServiceRegistration) listenedPort() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.webPort
}

func (a *AutoServiceRegistration) start(ctx context.Context, delay time.Duration) error {
	giveBack, err := a.turn.take(ctx)
	if err != nil {
		return fmt.Errorf("wait for a start or stop in progress: %w", err)
	}
	defer giveBack()

	switch {
	case a.life.Err() != nil:
		return ErrStopped
	case a.State() == StateRegistered, a.trying():
		return nil
	case delay > 0:
		a.enter(StateStarting, nil)
		a.tryInBackground(delay)
		return nil
	}
	err = a.firstAttempt(ctx)
	switch {
	case err == nil:
		return nil
	case a.life.Err() != nil:
		return ErrStopped
	case a.options.FailFast, errors.Is(err, ErrInvalidRegistration):
		early, whole, release := a.deregisterContexts(ctx)
		defer release()
		a.withdraw(early, whole)
		return err
	}
	a.logRetry(ctx, err)
	a.tryInBackground(0)
	return nil
}

func (a *AutoServiceRegistration) logRetry(ctx context.Context, err error) {
	a.logger.WarnContext(ctx, "registering failed, trying again in the background", failure(err))
}

// firstAttempt leaves half of the time that is left to start, unless it must
// succeed now: a registry that does not answer is no reason to miss the
// deadline.
func (a *AutoServiceRegistration) firstAttempt(ctx context.Context) error {
	if deadline, bounded := ctx.Deadline(); bounded && !a.options.FailFast {
		half, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
		ctx = half
	}
	return a.attempt(ctx)
}

// enter changes the state unless a stop has begun, and reports whether it did.
func (a *AutoServiceRegistration) enter(s State, err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == StateStopping || a.state == StateStopped {
		return false
	}
	a.state, a.lastErr = s, err
	return true
}

// trying reports whether attempts go on in the background.
func (a *AutoServiceRegistration) trying() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.background == nil {
		return false
	}
	select {
	case <-a.background:
		return false
	default:
		return true
	}
}

// tryInBackground attempts to register until it succeeds, cannot succeed, or
// life ends. The first attempt comes after the delay, or after a retry's first
// pause if there is none. Stop joins the goroutine.
func (a *AutoServiceRegistration) tryInBackground(delay time.Duration) {
	done := make(chan struct{})
	a.mu.Lock()
	a.background = done
	a.mu.Unlock()

	pauses := a.options.Retry.pauses()
	if delay == 0 {
		delay = pauses()
	}
	go func() {
		defer close(done)
		for a.sleep(delay) && !a.attemptInTurn() {
			delay = pauses()
		}
	}()
}

// attemptInTurn reports whether it was the last one.
func (a *AutoServiceRegistration) attemptInTurn() (last bool) {
	giveBack, err := a.turn.take(a.life)
	if err != nil {
		return true
	}
	defer giveBack()
	err = a.attempt(a.life)
	switch {
	case err == nil, a.life.Err() != nil:
		return true
	case errors.Is(err, ErrInvalidRegistration):
		a.logger.ErrorContext(a.life, "registering failed for good", failure(err))
		return true
	}
	a.logRetry(a.life, err)
	return false
}

// sleep reports whether it slept to the end.
func (a *AutoServiceRegistration) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return a.life.Err() == nil
	case <-a.life.Done():
		return false
	}
}
