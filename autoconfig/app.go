package autoconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.uber.org/fx"
)

// App is an application that was put together and can be started once.
type App struct {
	fx         *fx.App
	hooks      hookScope
	web        *WebServer        // nil without one
	management *ManagementServer // nil without one
	registrar  *registrar
	reloader   *reloader
	logger     *slog.Logger
	stopGrace  time.Duration
}

// New reads and validates the configuration, decides which parts take part, and
// builds the graph; nothing listens yet. Options are those of this package and
// of fx. The error is a *[ConfigError] when the configuration is at fault.
func New(opts ...fx.Option) (*App, error) {
	var b boot
	b.collect(opts)
	return assemble(&b)
}

// Run is the main function of an application: [New], start, wait for SIGINT,
// SIGTERM or fx.Shutdowner, stop. When something fails it prints why and exits
// with 1. A second signal ends the waits of the stop, a third one the process.
func Run(opts ...fx.Option) {
	app, err := New(opts...)
	if err == nil {
		err = app.Run(context.Background())
	}
	if err == nil {
		return
	}
	code := 1
	if exit := (*ExitError)(nil); errors.As(err, &exit) {
		code = exit.Code
	} else {
		fmt.Fprint(os.Stderr, explain(err))
	}
	os.Exit(code)
}

// ExitError is what [App.Run] returns when fx.Shutdowner asked for an exit code.
type ExitError struct {
	// Code is the exit code, not 0.
	Code int
}

func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// Start runs the start hooks: those of the user's components first, then the web
// server listens, then the application registers. When it fails, or ctx ends on
// the way, what was started has been stopped again within [App.StopTimeout].
func (a *App) Start(ctx context.Context) error {
	return rootCause(a.hooks.run(ctx, a.StopTimeout(), a.fx.Start))
}

// Stop runs the stop hooks in reverse, all of them. The end of ctx cuts the
// waits: deregistering is tried once all the same (A-R10).
func (a *App) Stop(ctx context.Context) error {
	if a.web != nil {
		a.web.Retire()
	}
	return rootCause(a.hooks.run(ctx, a.stopGrace, a.fx.Stop))
}

// StopTimeout is what a stop may take in all: deregistration, drain and the web
// server's shutdown, and two seconds for the rest (A-R8).
func (a *App) StopTimeout() time.Duration { return a.fx.StopTimeout() }

// Addr is where the web server listens; nil before [App.Start] and without a web
// server.
func (a *App) Addr() net.Addr {
	if a.web == nil {
		return nil
	}
	return a.web.Addr()
}

// ManagementAddr is where the actuator is: the address of the management server,
// or of the web server where it has none of its own; nil before [App.Start].
func (a *App) ManagementAddr() net.Addr {
	if a.management == nil {
		return a.Addr()
	}
	return a.management.Addr()
}

// Reload reads the configuration again and applies what can change while the
// application runs: weight, metadata and status of the registration, which service
// it is in and where, every key of cloud.loadbalancer and the levels of the
// loggers. What cannot is left as it is, with one log line for each key. The error
// says why nothing was changed, a *[ConfigError] when the configuration is at
// fault, or which part refused; it is logged as well. It needs a started
// application.
func (a *App) Reload(ctx context.Context) error { return a.reloader.reload(ctx, "asked to") }

// Run starts the application, waits for SIGINT, SIGTERM, fx.Shutdowner or the end
// of ctx, and stops it. SIGHUP has the configuration read again meanwhile, as
// [App.Reload] does. A signal during the start ends the start. A second signal
// cuts the drain and the waiting for requests (A-R10).
func (a *App) Run(ctx context.Context) error {
	signalled, ignore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer ignore()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	startCtx, cancel := context.WithTimeout(signalled, a.fx.StartTimeout())
	defer cancel()
	if err := a.Start(startCtx); err != nil {
		if signalled.Err() != nil && ctx.Err() == nil {
			a.logger.Info("stopped by a signal while starting", slog.Any("error", err))
			return nil
		}
		return err
	}
	code := 0
	for wait := true; wait; {
		select {
		case <-hangup:
			_ = a.reloader.reload(signalled, "SIGHUP") // logged there
		case <-signalled.Done():
			wait = false
		case s := <-a.fx.Wait(): // also when it was asked while starting
			code, wait = s.ExitCode, false
		}
	}
	if err := a.stopOrCut(ctx, ignore); err != nil {
		return err
	}
	if code != 0 {
		return &ExitError{Code: code}
	}
	return nil
}

// stopOrCut stops within the stop timeout; a signal that arrives meanwhile cuts
// the waits, and the next one has its usual effect. ignoreFirst ends the listening
// to signals until now, which goes on until somebody else listens: one in between
// would end the process where it stands.
func (a *App) stopOrCut(ctx context.Context, ignoreFirst func()) error {
	again, ignore := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	ignoreFirst()
	release := context.AfterFunc(again, func() {
		ignore()
		a.cut()
	})
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.fx.StopTimeout())
	err := a.Stop(stopCtx)
	cancel()
	release() // before ignore, which would look like a signal
	ignore()
	return err
}

// cut ends the waits of a stop, now or when they begin.
func (a *App) cut() {
	a.registrar.cut()
	if a.web != nil {
		a.web.Cut()
	}
	if a.management != nil {
		a.management.Cut()
	}
}
