package autoconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/registry"
)

// registrar is the last hook of the application: it registers when everything
// else has started, and a stop begins with it (A-R14). Between the two the
// application is ready.
type registrar struct {
	ready, stopped atomic.Bool

	// registration is set before the application starts; nil when there is none.
	// The registrar does not take it as a parameter: a hook of the user's that
	// knows the web server, whose health answer shows the registrar, would close
	// a circle.
	registration *registry.AutoServiceRegistration
}

func (r *registrar) start(ctx context.Context) error {
	if r.registration != nil {
		if err := r.registration.Start(ctx); err != nil {
			return err
		}
	}
	r.ready.Store(true)
	return nil
}

// stop takes the registration back; a second call does nothing.
func (r *registrar) stop(ctx context.Context) error {
	r.ready.Store(false)
	if r.stopped.Swap(true) || r.registration == nil {
		return nil
	}
	return r.registration.Stop(ctx)
}

// cut ends the drain.
func (r *registrar) cut() {
	if r.registration != nil {
		r.registration.CutDrain()
	}
}

// health shows where the registration is in its life (A-R6); ok is false when
// there is none. A registration that waits for its moment is UNKNOWN.
func (r *registrar) health() (h Health, ok bool) {
	if r.registration == nil {
		return Health{}, false
	}
	state := r.registration.State()
	h = Health{Status: HealthUnknown, Details: map[string]any{"state": state}}
	switch state {
	case registry.StateRegistered:
		h.Status = HealthUp
	case registry.StateFailed:
		h.Status = HealthDown
	}
	return h, true
}

// errNoRegistration is what auto-registration.fail-fast asks for.
var errNoRegistration = errors.New("cloud.service-registry.auto-registration.fail-fast: there is no registry to register with; " +
	"switch registering on, give a registry (autoconfig.Backend), or set fail-fast to false")

// startLast is the last of the invokes at the root: the hook that registers, and
// then has the configuration read again when it changes. They are one hook, since
// nothing may fail once the application is registered: a signal at that moment
// would undo the start, without the drain that a stop begins with.
func startLast(s *settings) func(fx.Lifecycle, *registrar, reloaderParams) {
	return func(lc fx.Lifecycle, r *registrar, p reloaderParams) {
		reloads := newReloads(p)
		lc.Append(fx.Hook{
			OnStart: func(ctx context.Context) error {
				if err := s.explainFailFast(ctx, r.start(ctx)); err != nil {
					return err
				}
				reloads.start()
				return nil
			},
			OnStop: func(ctx context.Context) error {
				reloads.stop()
				return r.stop(ctx)
			},
		})
	}
}

// explainFailFast says what to change where a registration ended the start.
func (s *settings) explainFailFast(ctx context.Context, err error) error {
	own := (*registry.CodeError)(nil)
	if err == nil || !s.nacos.Discovery.FailFast || errors.Is(err, registry.ErrInvalidRegistration) || errors.As(err, &own) {
		return err // a registry that is away is not the reason
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return err // nor is it when the start was called off, such as by a signal
	}
	return fmt.Errorf("%w\ncloud.nacos.discovery.fail-fast is true: set it to false to start without the registry and register later", err)
}

// registrationModule provides what part registry needs besides a registry. The
// lines about registering say with which Nacos, when it is one.
func registrationModule(s *settings, nacos bool) fx.Option {
	opts := []fx.Option{registry.Module, fx.Decorate(func(loggers *Loggers, l *slog.Logger) *slog.Logger {
		l = loggers.Named(loggerRegistry, l)
		if nacos {
			l = l.With("registry", s.nacos.describe())
		}
		return l
	})}
	provided := []any{
		func(l *slog.Logger) (*offer, error) { return newOffer(s, l) },
		func(o *offer) registry.Registration { return o.registration(s) },
		s.autoOptions,
	}
	if s.management.Server.Port >= 0 && s.serviceRegistry.AutoRegistration.RegisterManagement {
		provided = append(provided, fx.Annotate(
			func(i *inside) registry.Customizer { return managementCustomizer(s, i) },
			fx.ResultTags(`group:"registration.customizer"`),
		))
	}
	return fx.Options(fx.Module("registration", opts...), fx.Provide(provided...))
}
