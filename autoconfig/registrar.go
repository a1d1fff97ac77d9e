package autoconfig

import (
	"context"
	"errors"
	"log/slog"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// parts are what has to be constructed before the web server, so that it is
// closed after it; each is nil when its condition does not hold.
type parts struct {
	fx.In

	Lifecycle    fx.Lifecycle
	Bus          *EventBus
	Discovery    *discovery.Client                 `optional:"true"`
	Balancer     *loadbalance.LoadBalancer         `optional:"true"`
	HTTPClient   *loadbalance.HTTPClient           `optional:"true"`
	Registration *registry.AutoServiceRegistration `optional:"true"`
}

// construct is the first of the invokes at the root. It has the registration
// hear of the web server, and taken back when the start fails after that: fx
// stops only what it has started, and the registrar comes last.
func construct(p parts) {
	if p.Registration == nil {
		return
	}
	Subscribe(p.Bus, p.Registration.OnWebServerStarted)
	p.Lifecycle.Append(fx.Hook{OnStop: p.Registration.Stop})
}

// errNoRegistration is auto-registration.fail-fast.
var errNoRegistration = errors.New("cloud.service-registry.auto-registration.fail-fast: there is no registry to register with; " +
	"switch one on (cloud.nacos.discovery.enabled), give one (autoconfig.Backend), or set fail-fast to false")

// registrar is the last hook of the application: it registers when everything
// else has started, and a stop begins with it (A-R14).
type registrar struct {
	registration *registry.AutoServiceRegistration // nil when there is none
	ready        *readiness
}

func (r *registrar) start(ctx context.Context) error {
	if r.registration != nil {
		if err := r.registration.Start(ctx); err != nil {
			return err
		}
	}
	r.ready.ready.Store(true)
	return nil
}

func (r *registrar) stop(ctx context.Context) error {
	r.ready.ready.Store(false)
	if r.registration == nil {
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

// registrationModule provides what part registry needs besides a registry.
func registrationModule(s *settings) fx.Option {
	return fx.Options(
		registry.Module,
		fx.Provide(
			func(logger *slog.Logger) (registry.Registration, error) { return newRegistration(s, logger) },
			s.autoOptions,
		),
	)
}
