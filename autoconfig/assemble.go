package autoconfig

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
	"github.com/rollcall-go/rollcall/internal/netaddr"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// settingsOf adds the blocks of this package to those that are read.
func settingsOf(b *boot) *settings {
	return &settings{
		stages:          b.stages,
		host:            cmp.Or(b.host, thisHost()),
		inetutils:       properties(b, "cloud.inetutils", DefaultInetUtilsProperties()), // first: see computed
		application:     properties(b, "application", DefaultApplicationProperties()),
		server:          properties(b, "server", DefaultServerProperties()),
		management:      properties(b, "management", DefaultManagementProperties()),
		logging:         properties(b, "logging", DefaultLoggingProperties()),
		serviceRegistry: properties(b, "cloud.service-registry", DefaultServiceRegistryProperties()),
		discovery:       properties(b, "cloud.discovery", DefaultDiscoveryProperties()),
		nacos:           properties(b, "cloud.nacos", DefaultNacosProperties()),
		loadbalancer:    properties(b, loadbalance.PropertiesPrefix, loadbalance.DefaultProperties()),
	}
}

// computed are the names of placeholders that Spring publishes.
func (s *settings) computed() map[string]config.Compute {
	return map[string]config.Compute{
		"cloud.client.hostname": func(value func(string) (string, error)) (string, error) {
			ip, err := s.clientIP(value)
			if err != nil {
				return s.hostname(), nil // the address may be this very name
			}
			return s.nameOf(ip), nil
		},
		"cloud.client.ipaddress": s.clientIP,
	}
}

// clientIP chooses the address to register while the configuration is being read.
func (s *settings) clientIP(value func(key string) (string, error)) (string, error) {
	o := s.address()
	var errs []error
	for key, field := range map[string]*string{"ip": &o.IP, "network-interface": &o.Interface, "ip-type": &o.IPType} {
		text, err := value("cloud.nacos.discovery." + key)
		*field, errs = text, append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	choice, err := netaddr.Select(o, s.host.interfaces)
	return choice.IP, err
}

// read reads and validates the configuration. The mistakes are in the Config.
func (b *boot) read() (*settings, *config.Config, error) {
	if len(b.errs) > 0 {
		return nil, nil, errors.Join(b.errs...)
	}
	s := settingsOf(b)
	b.sources.Owned, b.sources.Foreign, b.sources.Aliases = []string{"cloud"}, foreignKeys(), aliasKeys()
	b.sources.Computed = s.computed()
	b.sources.Validate = map[string]func() error{
		loadbalance.PropertiesPrefix: func() error { return s.loadbalancer.ValidateWith(s.stages...) },
	}
	loaded, err := config.Load(b.sources, b.blocks...)
	if err != nil {
		return nil, nil, err
	}
	if b.listener != nil {
		s.server.Port = max(s.server.Port, 0) // a listener that was given is served on
	}
	if b.management != nil {
		s.management.Server.Port = 0
	}
	s.validate(loaded, b.ownBackend())
	return s, loaded, nil
}

// again returns a boot that reads the same sources into blocks of its own.
func (b *boot) again() *boot {
	next := &boot{sources: b.sources, listener: b.listener, management: b.management, registry: b.registry, own: b.own, stages: b.stages, host: b.host}
	for _, declare := range b.declared {
		declare(next)
	}
	return next
}

// assemble turns the options into an application.
func assemble(b *boot) (*App, error) {
	s, loaded, err := b.read()
	if err != nil {
		return nil, err
	}
	loggers, end := b.loggers(s)
	if err := loaded.Err(); err != nil {
		// A key that nothing reads, or a file that was not found, may be why.
		logNotes(loggers.Logger(loggerRoot), loaded.Notes)
		end()
		return nil, err
	}
	app, err := build(b, s, loaded, loggers, end)
	if err != nil {
		end()
	}
	return app, err
}

// loggers are over the user's logger, or else as the configuration describes. end
// ends what was put around them.
func (b *boot) loggers(s *settings) (l *Loggers, end func()) {
	if b.logger != nil {
		l = newLoggers(b.logger.Handler())
	} else {
		l = newLogger(*s.logging, os.Stderr)
	}
	if b.logThrough == nil {
		return l, func() {}
	}
	l.base, end = b.logThrough(l.base)
	return l, sync.OnceFunc(end)
}

// build makes the graph of the parts whose conditions hold.
func build(b *boot, s *settings, loaded *config.Config, loggers *Loggers, endLog func()) (*App, error) {
	app := &App{stopGrace: s.serviceRegistry.AutoRegistration.DeregisterTimeout + stopReserve}
	logger, events := loggers.Logger(loggerRoot), &graphLogger{}
	events.use(logger)
	nacos := s.nacosBackend(b.ownBackend())
	conditions := []condition{
		s.webServer(), s.managementServer(), s.discoveryClient(), nacos, s.registration(), s.loadBalancer(),
	}
	opts := []fx.Option{
		fx.WithLogger(func() fxevent.Logger { return events }),
		fx.Decorate(app.hooks.decorate),
		fx.StartTimeout(startTimeout),
		fx.StopTimeout(s.stopTimeout()),
		coreModule(b, s, logger, func(lc fx.Lifecycle, l *slog.Logger) {
			lc.Append(fx.StopHook(endLog)) // the first hook is the last to stop
			events.use(l)
			logNotes(l, loaded.Notes)
			logConditions(l, conditions...)
		}),
		fx.Supply(loggers),
		fx.Provide(func() *reloader { return newReloader(b, s, loaded, loggers) }),
		fx.Provide(newTracing),
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
	if s.managementServer().holds {
		opts = append(opts, fx.Invoke(func(m *ManagementServer) { app.management = m }))
	}
	if s.webServer().holds {
		opts = append(opts, fx.Invoke(func(w *WebServer) { app.web = w }))
	}
	opts = append(opts, fx.Invoke(startLast(s)),
		fx.Populate(&app.registrar, &app.logger, &app.reloader))
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
func coreModule(b *boot, s *settings, logger *slog.Logger, first func(fx.Lifecycle, *slog.Logger)) fx.Option {
	opts := []fx.Option{
		fx.Provide(
			func() *slog.Logger { return logger },
			fx.Annotate(newMetrics, fx.As(fx.Self()), fx.As(new(prometheus.Registerer)), fx.As(new(prometheus.Gatherer))),
			fx.Annotate(NewEventBus, fx.As(fx.Self()), fx.As(new(registry.Publisher))),
			func() *registrar { return &registrar{} },
			func() *inside {
				i := &inside{}
				i.local = s.localInstance(i)
				return i
			},
			provideEngine(b),
			newActuator,
		),
		fx.Invoke(first),
	}
	for _, supply := range b.supplies {
		opts = append(opts, supply())
	}
	if s.webServer().holds {
		opts = append(opts, fx.Provide(provideWebServer(b, !s.managementServer().holds)))
	}
	if s.managementServer().holds {
		opts = append(opts, fx.Provide(provideManagementServer(b)))
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
	Engine     *gin.Engine
	Registrar  *registrar
	Actuator   *actuator
	Tracing    *tracing
	Publisher  registry.Publisher
	Loggers    *Loggers
	Logger     *slog.Logger
	Wrap       WrapListener `optional:"true"`
	// Management is there so that it listens first, whoever takes the web server.
	Management *ManagementServer `optional:"true"`
}

// provideWebServer returns the constructor that puts the actuator on the engine,
// unless that has a server of its own, and the server under fx's lifecycle.
func provideWebServer(b *boot, withActuator bool) any {
	return func(p webServerParams) (*WebServer, error) {
		if withActuator {
			if err := p.Actuator.mount(p.Engine); err != nil {
				return nil, err
			}
		}
		web := NewWebServer(WebServerOptions{
			Properties: p.Server, Handler: p.Tracing.server(p.Engine, p.Actuator.serves), Listener: b.listener,
			Wrap: p.Wrap, Publisher: p.Publisher, Logger: p.Loggers.Named(loggerWeb, p.Logger),
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
