package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Update changes the registration at run time: f gets a copy of what is
// registered and changes it. Weight, metadata and the enabled flag are told to
// the registry by one call, without registering again. Where f changed what
// identifies the instance or its service (namespace, group, name, cluster, IP,
// port), the new one is registered and then the old one taken out.
//
// What f changed is the strongest layer: every later attempt to register carries
// it, over what properties and customizers say (client case 25). Before the first
// attempt it is only remembered. Where f changes nothing, nothing is called.
//
// An error of the registry is returned and leaves everything as it was, with one
// exception: an error of taking the old instance out is returned when the new one
// is in place already; that is tried again by the next change and by Stop.
// [ErrInvalidRegistration] says that the result cannot be
// made known, [ErrDisabled] and [ErrStopped] that nothing ever will be.
func (a *AutoServiceRegistration) Update(ctx context.Context, f func(*Registration)) error {
	return a.change(ctx, func(now Registration) (Registration, error) {
		now.makeWritable()
		err := guard("update of the registration", func() error { f(&now); return nil })
		return now, err
	}, func(from, to Registration) {
		a.runtime = a.runtime.then(between(from, to))
		if from.Enabled != to.Enabled {
			a.status = statusOf(to)
		}
	}, nil)
}

// Refresh replaces the template, the lowest layer, after the configuration was
// read again, and tells the registry what follows from that, as Update does.
// Customizers run again; what listeners and hooks made of the registration, and
// what was changed at run time, stays (client case 25).
//
// registered, if it is not nil, is called once the registry knows the new state,
// or is not to be told yet, and before a former instance is taken out. A change
// that fails before calls it not at all.
func (a *AutoServiceRegistration) Refresh(ctx context.Context, template Registration, registered func()) error {
	template = a.initial(template)
	return a.change(ctx, func(now Registration) (Registration, error) {
		next := template.clone()
		if next.Port == 0 {
			next.Port = a.listenedPort()
		}
		if err := a.customize(&next); err != nil {
			return now, err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		next = a.runtime.over(a.shaped.over(next))
		if a.status != "" {
			next.Enabled = a.status == StatusUp
		}
		return next, nil
	}, func(_, _ Registration) {
		a.template = template
		a.refreshed++
	}, registered)
}

// change makes of the registration what next makes of it; note runs under mu when
// that was accepted, and then after it, unless it is nil.
func (a *AutoServiceRegistration) change(ctx context.Context, next func(now Registration) (Registration, error), note func(from, to Registration), then func()) error {
	if !a.options.Enabled {
		return ErrDisabled
	}
	from, to, err := a.changeInTurn(ctx, next, note, then)
	if from.Enabled != to.Enabled {
		a.announce(ctx, StatusChanged{Registration: to.clone(), Status: statusOf(to)})
	}
	if !between(from, to).empty() {
		a.announce(ctx, RegistrationChanged{Old: from, New: to.clone()})
	}
	return err
}

// changeInTurn returns what was registered before and is afterwards; they are
// equal where nothing changed.
func (a *AutoServiceRegistration) changeInTurn(ctx context.Context, next func(now Registration) (Registration, error), note func(from, to Registration), then func()) (from, to Registration, err error) {
	giveBack, err := a.calls.take(ctx)
	if err != nil {
		return from, from, fmt.Errorf("wait for a call to the registry in progress: %w", err)
	}
	defer giveBack()

	a.mu.Lock()
	from = a.current.clone()
	reached, live := a.reached, a.live
	a.mu.Unlock()
	if a.life.Err() != nil {
		return from, from, ErrStopped
	}
	to, err = next(from.clone())
	if err != nil {
		return from, from, err
	}
	to = to.clone()
	to.Service = to.Service.Normalize()
	if reached {
		if err := to.validate(); err != nil {
			return from, from, err
		}
	}
	settle := func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		note(from, to)
		a.current = to
		a.forgetFormer(to.Key())
	}
	moved := from.Key() != to.Key()
	if live && !between(from, to).empty() {
		if err := a.tell(ctx, from, to, moved); err != nil {
			return from, from, err
		}
	}
	settle()
	if then != nil {
		then()
	}
	if moved && reached {
		err = a.takeOut(ctx, from)
	}
	if err == nil && reached {
		err = a.takeOutFormer(ctx)
	}
	if err != nil {
		return from, to, fmt.Errorf("the change is made, but an old instance may stay: %w", err)
	}
	if !moved || !reached {
		return from, to, nil
	}
	if a.life.Err() != nil {
		// The stop may have looked before the new one was there.
		return from, to, errors.Join(ErrStopped, a.takeOut(ctx, to))
	}
	return from, to, nil
}

// tell makes the registry know to in the place of from.
func (a *AutoServiceRegistration) tell(ctx context.Context, from, to Registration, moved bool) error {
	updater, ok := a.registry.(Updater)
	if ok && !moved && from.Ephemeral == to.Ephemeral {
		return call("update", to, func() error { return updater.Update(ctx, to.clone()) })
	}
	err := call("register", to, func() error { return a.registry.Register(ctx, to.clone()) })
	if err != nil && moved {
		// It may have reached the registry all the same.
		err = errors.Join(err, a.takeOut(ctx, to))
	}
	return err
}

// takeOut deregisters within its own time.
func (a *AutoServiceRegistration) takeOut(ctx context.Context, r Registration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.options.DeregisterTimeout)
	defer cancel()
	return a.dropInstance(ctx, r)
}

// takeOutFormer takes out what stayed of earlier moves, since a persistent instance
// would stay for ever (client case 23). It returns why one stays on.
func (a *AutoServiceRegistration) takeOutFormer(ctx context.Context) error {
	a.mu.Lock()
	former := slices.Clone(a.former)
	a.mu.Unlock()
	for _, r := range former {
		if err := a.takeOut(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// dropInstance deregisters an instance that the registration has no more, and
// remembers it where that fails.
func (a *AutoServiceRegistration) dropInstance(ctx context.Context, r Registration) error {
	err := call("deregister", r, func() error { return a.registry.Deregister(ctx, r.clone()) })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetFormer(r.Key())
	if err != nil {
		a.former = append(a.former, r.clone())
	}
	return err
}

// forgetFormer says that an instance is out of the registry, or the registration's
// again. mu is held.
func (a *AutoServiceRegistration) forgetFormer(key Key) {
	a.former = slices.DeleteFunc(a.former, func(r Registration) bool { return r.Key() == key })
}

// adopted takes over weight and metadata that an operator changed at the
// registry: it is a change at run time, made elsewhere.
func (a *AutoServiceRegistration) adopted(r Registration) {
	a.mu.Lock()
	from := a.current.clone()
	if a.life.Err() != nil || from.Key() != r.Key() {
		a.mu.Unlock()
		return
	}
	to := from.clone()
	to.Weight, to.Metadata = r.Weight, r.clone().Metadata
	a.runtime = a.runtime.then(between(from, to))
	a.current = to
	a.mu.Unlock()

	a.logger.InfoContext(a.life, "adopted what was changed at the registry", registrationAttr(to), slog.Float64("weight", to.Weight))
	// The event is the operator's, not a call's: it has what any call has of time.
	ctx, cancel := context.WithTimeout(a.life, adoptTimeout)
	defer cancel()
	a.announce(ctx, RegistrationChanged{Old: from, New: to.clone(), Remote: true})
}

// adoptTimeout bounds what listeners do about a change made at the registry.
const adoptTimeout = 5 * time.Second

func statusOf(r Registration) Status {
	if r.Enabled {
		return StatusUp
	}
	return StatusDown
}
