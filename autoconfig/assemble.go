package autoconfig

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
	"github.com/rollcall-go/rollcall/registry"
)

// settingsOf adds the blocks of this package to those that are read.
func settingsOf(b *boot) *settings {
	return &settings{
		application:     properties(b, "application", ApplicationProperties{}),
		server:          properties(b, "server", DefaultServerProperties()),
		management:      properties(b, "management", DefaultManagementProperties()),
		logging:         properties(b, "logging", DefaultLoggingProperties()),
		serviceRegistry: properties(b, "cloud.service-registry", DefaultServiceRegistryProperties()),
		discovery:       properties(b, "cloud.discovery", DefaultDiscoveryProperties()),
		inetutils:       properties(b, "cloud.inetutils", DefaultInetUtilsProperties()),
		nacos:           properties(b, "cloud.nacos", DefaultNacosProperties()),
		loadbalancer:    properties(b, "cloud.loadbalancer", DefaultLoadBalancerProperties()),
	}
}

// assemble turns the options into an application.
func assemble(b *boot) (*App, error) {
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	s := settingsOf(b)
	b.sources.Owned, b.sources.Foreign = []string{"cloud"}, foreignKeys()
	loaded, err := config.Load(b.sources, b.blocks...)
	if err != nil {
		return nil, err
	}
	if b.listener != nil {
		s.server.Port = max(s.server.Port, 0) // a listener that was given is served on
	}
	s.validate(loaded, b.ownBackend())
	if err := loaded.Err(); err != nil {
		return nil, err
	}
	return build(b, s, loaded.Notes)
}

// build makes the graph of the parts whose conditions hold.
func build(b *boot, s *settings, notes []config.Note) (*App, error) {
	app := &App{stopGrace: s.serviceRegistry.AutoRegistration.DeregisterTimeout + stopReserve}
	logger, events := b.logger, &graphLogger{}
	if logger == nil {
		logger = newLogger(*s.logging, os.Stderr)
	}
	events.use(logger)
	nacos := s.nacosBackend(b.ownBackend())
	conditions := []condition{s.webServer(), s.discoveryClient(), nacos, s.registration(), s.loadBalancer()}
	opts := []fx.Option{
		fx.WithLogger(func() fxevent.Logger { return events }),
		fx.Decorate(app.hooks.decorate),
		fx.StartTimeout(startTimeout),
		fx.StopTimeout(s.stopTimeout()),
		coreModule(b, s, logger, func(l *slog.Logger) {
			events.use(l)
			logNotes(l, notes)
			logConditions(l, conditions...)
		}),
	}
	if nacos.holds {
		opts = append(opts, nacosModule(s))
	}
	if s.discoveryClient().holds {
		opts = append(opts, b.backend(), discoveryModule(s))
	}
	if s.registration().holds {
		opts = append(opts, registrationModule(s, nacos.holds))
	}
	if s.loadBalancer().holds {
		opts = append(opts, loadBalancerModule(s))
	}
	opts = append(opts, b.plain...)

	// The last invokes of the root: fx runs them after those of all modules and of
	// the user, so that the user's hooks have run when the server listens (A-R14).
	opts = append(opts, fx.Invoke(constructParts(s)))
	if s.webServer().holds {
		opts = append(opts, fx.Invoke(func(w *WebServer) { app.web = w }))
	}
	opts = append(opts, fx.Invoke(startRegistrar(s)), fx.Populate(&app.registrar, &app.logger))
	app.fx = fx.New(opts...)
	if err := app.fx.Err(); err != nil {
		return nil, rootCause(err)
	}
	if needed := s.stopTimeout(); app.StopTimeout() < needed {
		app.logger.Warn("the stop timeout is shorter than what deregistering, drain and shutdown may take",
			slog.Duration("timeout", app.StopTimeout()), slog.Duration("needed", needed))
	}
	return app, nil
}

// coreModule provides what every application has. It comes first, so that its
// notes are the first lines of the log.
func coreModule(b *boot, s *settings, logger *slog.Logger, first func(*slog.Logger)) fx.Option {
	opts := []fx.Option{
		fx.Provide(
			func() *slog.Logger { return logger },
			fx.Annotate(newMetrics, fx.As(fx.Self()), fx.As(new(prometheus.Registerer)), fx.As(new(prometheus.Gatherer))),
			fx.Annotate(NewEventBus, fx.As(fx.Self()), fx.As(new(registry.Publisher))),
			func() *registrar { return &registrar{} },
			provideEngine(b),
		),
		fx.Invoke(first),
	}
	for _, supply := range b.supplies {
		opts = append(opts, supply())
	}
	if s.webServer().holds {
		opts = append(opts, fx.Provide(provideWebServer(b)))
	}
	return fx.Module("autoconfig", opts...)
}

func provideEngine(b *boot) any {
	if b.engine != nil {
		return func() *gin.Engine { return b.engine }
	}
	return newEngine
}

type webServerParams struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner
	Server     ServerProperties
	Management ManagementProperties
	Engine     *gin.Engine
	Registrar  *registrar
	Indicators []HealthIndicator `group:"health.indicators"`
	Metrics    prometheus.Gatherer
	Publisher  registry.Publisher
	Logger     *slog.Logger
}

// provideWebServer returns the constructor that puts the actuator on the engine
// and the server under fx's lifecycle.
func provideWebServer(b *boot) any {
	return func(p webServerParams) (*WebServer, error) {
		health, err := newHealthEndpoint(p.Registrar, p.Indicators)
		if err != nil {
			return nil, err
		}
		if err := mountActuator(p.Engine, p.Management, health, p.Metrics); err != nil {
			return nil, err
		}
		web := NewWebServer(WebServerOptions{
			Properties: p.Server, Handler: p.Engine, Listener: b.listener,
			Publisher: p.Publisher, Logger: p.Logger,
			OnFailure: func(error) { _ = p.Shutdowner.Shutdown(fx.ExitCode(1)) },
		})
		p.Lifecycle.Append(fx.Hook{OnStart: web.Start, OnStop: func(ctx context.Context) error {
			// A registration may have been caused by the server's start, and what came
			// after it may have failed: fx then stops the server and never comes to the
			// registrar, which was to start last (A-R9).
			return errors.Join(p.Registrar.stop(ctx), web.Stop(ctx))
		}})
		return web, nil
	}
}
