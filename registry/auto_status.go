package registry

import (
	"context"
	"fmt"
	"log/slog"
)

// SetStatus declares the status at run time: DOWN keeps the registration and
// takes the traffic away. It outlives every later attempt to register, and may
// be set before the first. An error from the registry is returned and leaves
// the declared status as it was. [ErrUnknownStatus] for another word,
// [ErrStopped] after Stop.
func (a *AutoServiceRegistration) SetStatus(ctx context.Context, status Status) error {
	if status != StatusUp && status != StatusDown {
		return fmt.Errorf("%w: %q", ErrUnknownStatus, status)
	}
	r, err := a.switchStatus(ctx, status)
	if err != nil {
		return err
	}
	attrs := []any{slog.String("status", string(status))}
	if r.Service.Name != "" { // else what it is declared for is not known yet
		attrs = append(attrs, registrationAttr(r))
	}
	a.logger.InfoContext(ctx, "status declared", attrs...)
	a.announce(ctx, StatusChanged{Registration: r, Status: status})
	return nil
}

// switchStatus tells the registry if there is a registration, else only notes
// what the next attempt is to carry.
func (a *AutoServiceRegistration) switchStatus(ctx context.Context, status Status) (Registration, error) {
	giveBack, err := a.calls.take(ctx)
	if err != nil {
		return Registration{}, fmt.Errorf("wait for a call to the registry in progress: %w", err)
	}
	defer giveBack()

	a.mu.Lock()
	r, live := a.current.clone(), a.live
	a.mu.Unlock()
	if a.life.Err() != nil {
		return r, ErrStopped
	}
	if live {
		if err := call("set status of", r, func() error { return a.registry.SetStatus(ctx, r, status) }); err != nil {
			return r, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = status
	a.current.Enabled = status == StatusUp
	return a.current.clone(), nil
}

// Status asks the registry for the status of the registration. [ErrNotFound]
// while there is none.
func (a *AutoServiceRegistration) Status(ctx context.Context) (Status, error) {
	a.mu.Lock()
	r, live := a.current.clone(), a.live
	a.mu.Unlock()
	if !live {
		return "", ErrNotFound
	}
	var status Status
	err := call("status of", r, func() (err error) {
		status, err = a.registry.Status(ctx, r)
		return err
	})
	return status, err
}
