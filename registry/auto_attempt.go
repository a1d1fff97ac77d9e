package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/rollcall-go/rollcall/internal/netaddr"
)

// attempt makes one attempt to register and records how it went. It ends early
// when life ends, and is then no failure but ErrStopped.
func (a *AutoServiceRegistration) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.life, cancel)()

	if !a.enter(StateStarting, a.LastError()) { // why the one before failed stays visible
		return ErrStopped
	}
	r, err := a.registerOnce(ctx)
	if err == nil {
		if !a.enter(StateRegistered, nil) {
			return ErrStopped
		}
		a.logger.InfoContext(ctx, "registered", registrationAttr(r))
		return nil
	}
	if !a.enter(StateFailed, err) {
		return ErrStopped
	}
	a.announce(ctx, RegistrationFailed{Registration: r.clone(), Err: err})
	return err
}

// registerOnce goes through the steps of a registration in Spring's order:
// customizers, event, hooks, the call, hooks, event.
func (a *AutoServiceRegistration) registerOnce(ctx context.Context) (Registration, error) {
	r, err := a.prepareAndRegister(ctx)
	for errors.Is(err, errRefreshed) {
		r, err = a.prepareAndRegister(ctx)
	}
	if err != nil {
		return r, err
	}
	for _, h := range a.hooks {
		if err := guard("hook "+h.Name()+" after registering", func() error { return h.AfterRegister(ctx, r.clone()) }); err != nil {
			return r, err
		}
	}
	a.announce(ctx, InstanceRegistered{Registration: r.clone()})
	return r, nil
}

// errRefreshed says that the template was replaced after it was prepared.
var errRefreshed = errors.New("the configuration has changed meanwhile")

// prepareAndRegister returns errRefreshed when it has to be done again, before
// the registry was called.
func (a *AutoServiceRegistration) prepareAndRegister(ctx context.Context) (Registration, error) {
	r, version, err := a.prepare(ctx)
	if err != nil {
		return r, err
	}
	return a.callRegister(ctx, r, version)
}

// prepare makes of the template what is to be registered, and returns which
// template that was. The result shares
// nothing with what customizers, listeners and hooks were given: one that kept
// its pointer changes only its own.
func (a *AutoServiceRegistration) prepare(ctx context.Context) (_ Registration, version uint64, _ error) {
	port := a.port()
	a.mu.Lock()
	draft := a.template.clone()
	version = a.refreshed
	a.mu.Unlock()
	draft.Port = port
	if err := a.customize(&draft); err != nil {
		return draft.clone(), version, err
	}
	customized := draft.clone()
	err := a.shape(ctx, &draft)
	r := draft.clone()
	r.Service = r.Service.Normalize()
	if err != nil {
		return r, version, err
	}
	a.mu.Lock()
	a.shaped = between(customized, r)
	a.mu.Unlock()
	return r, version, r.validate()
}

// customize gives the draft to the customizers, which may write to its metadata
// even where there is none.
func (a *AutoServiceRegistration) customize(draft *Registration) error {
	draft.makeWritable()
	for _, c := range a.customizers {
		if err := guard("customizer "+c.Name, func() error { return c.Customize(draft) }); err != nil {
			return err
		}
	}
	return nil
}

// shape gives the draft to listeners and hooks.
func (a *AutoServiceRegistration) shape(ctx context.Context, draft *Registration) error {
	draft.makeWritable()
	if err := a.publish(ctx, InstancePreRegistered{Registration: draft}); err != nil {
		return err
	}
	for _, h := range a.hooks {
		if err := guard("hook "+h.Name()+" before registering", func() error { return h.BeforeRegister(ctx, draft) }); err != nil {
			return err
		}
	}
	return nil
}

// callRegister makes the call with what was changed at run time until that moment,
// the status included.
func (a *AutoServiceRegistration) callRegister(ctx context.Context, r Registration, version uint64) (Registration, error) {
	giveBack, err := a.calls.take(ctx)
	if err != nil {
		return r, fmt.Errorf("wait for a status change in progress: %w", err)
	}
	defer giveBack()

	r, err = a.reach(r, version)
	if err == nil {
		err = r.validate()
	}
	if err != nil {
		return r, err
	}
	err = call("register", r, func() error { return a.registry.Register(ctx, r.clone()) })
	a.mu.Lock()
	a.live = err == nil && a.reached
	if errors.Is(err, ErrInvalidRegistration) {
		a.reached = false // it was refused, so there is nothing to take back
	}
	a.mu.Unlock()
	return r, err
}

// reach notes that r may be known to the registry from now on, so that a stop
// takes it back; a stop that has begun may have looked already, and wins. What was
// prepared from a template that was replaced since does not count.
func (a *AutoServiceRegistration) reach(r Registration, version uint64) (Registration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == StateStopping || a.state == StateStopped {
		return r, ErrStopped
	}
	if version != a.refreshed {
		return r, errRefreshed
	}
	r = a.runtime.over(r)
	if a.status != "" {
		r.Enabled = a.status == StatusUp
	}
	a.current, a.reached = r, true
	a.forgetFormer(r.Key())
	return r, nil
}

// validate finds what no registry can make known.
func (r Registration) validate() error {
	var problems []error
	if r.Service.Name == "" {
		problems = append(problems, fmt.Errorf("%s (or application.name): must be set", keyService))
	}
	if r.IP == "" {
		problems = append(problems, fmt.Errorf("%s: must be set", keyIP))
	} else if err := netaddr.CheckHost(r.IP); err != nil {
		problems = append(problems, fmt.Errorf("%s %q: %w", keyIP, r.IP, err))
	}
	if err := checkPort(r.Port); err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %w", ErrInvalidRegistration, errors.Join(problems...))
	}
	return nil
}

func registrationAttr(r Registration) slog.Attr {
	return slog.Group("registration", slog.String("service", r.Service.String()),
		slog.String("cluster", r.Cluster), slog.String("address", r.Address()))
}
