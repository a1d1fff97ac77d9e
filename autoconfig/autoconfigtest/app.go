package autoconfigtest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/discovery"
	discoverymemory "github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// App is an application that runs until the test ends.
type App struct {
	*autoconfig.App
	// URL is where it serves, without a slash at the end.
	URL string
	// Client reaches it, and every other address of its fleet.
	Client *http.Client
	// ByName is the client that the application calls other services with; nil when
	// the load balancer is off.
	ByName *loadbalance.HTTPClient
	// Registration is its own; nil when it does not register.
	Registration *registry.AutoServiceRegistration

	stop func(testing.TB)
}

// Start starts an application in a fleet of its own; see [Fleet.Start].
func Start(t testing.TB, opts ...fx.Option) *App {
	t.Helper()
	return NewFleet().Start(t, opts...)
}

// Start builds and starts an application as autoconfig.Run does, with the fleet as
// its registry, on an address that nobody else has, and stops it when the test
// ends. What fails on the way fails the test. It logs to the test.
//
// The options are those of autoconfig and of fx. The configuration is the
// application's own, with the file that it finds or names; above it stand only
// the addresses of its web server and of the actuator's, where that has one of its
// own, and what is registered of them, and below it a name, "app", for one that has
// none. In a network in memory the file is not watched for changes.
func (f *Fleet) Start(t testing.TB, opts ...fx.Option) *App {
	t.Helper()
	a := &App{Client: &http.Client{Transport: f.transport(t)}}
	l := f.listen(t)
	at := instanceAt("", l)
	var found struct {
		fx.In
		ByName       *loadbalance.HTTPClient           `optional:"true"`
		Discovery    *discovery.Client                 `optional:"true"`
		Balancer     *loadbalance.LoadBalancer         `optional:"true"`
		Registration *registry.AutoServiceRegistration `optional:"true"`
		Transformers []loadbalance.Transformer         `group:"loadbalance.transformers"`
	}
	own := []fx.Option{
		autoconfig.Default("application.name", "app"),
		autoconfig.Logger(slog.New(slog.NewTextHandler(t.Output(), nil))),
		autoconfig.Listener(l),
		autoconfig.Property("cloud.nacos.discovery.ip", at.IP),
		autoconfig.Backend(faultyRegistry{f.registry, f}, faultySource{discoverymemory.FromRegistry(f.registry), f}),
		fx.Populate(&found),
	}
	if f.network != nil {
		own = append(own,
			// Who waits for a file to change waits in the system, past the bubble's time.
			autoconfig.Property("application.reload-on-change", false),
			fx.Decorate(func(o loadbalance.Options) loadbalance.Options {
				o.ProbeTransport = f.transport(t)
				return o
			}),
			fx.Invoke(func() {
				if found.ByName != nil {
					found.ByName.Transport = loadbalance.NewTransport(found.Balancer, f.transport(t),
						loadbalance.TransportOptions{Transformers: found.Transformers})
				}
			}))
	}
	opts = append(own, opts...)
	if managed(opts) {
		l := f.listen(t)
		t.Cleanup(func() { _ = l.Close() }) // where the application has another one
		opts = append([]fx.Option{autoconfig.ManagementListener(l)}, opts...)
	}
	app, err := autoconfig.New(opts...)
	if err != nil {
		_ = l.Close()
		t.Fatalf("build the application: %v", err)
	}
	a.App, a.ByName, a.Registration = app, found.ByName, found.Registration
	if found.Discovery != nil {
		f.mu.Lock()
		f.clients = append(f.clients, found.Discovery)
		f.mu.Unlock()
	}
	if err := app.Start(t.Context()); err != nil {
		_ = l.Close()
		t.Fatalf("start the application: %v", err)
	}
	var once sync.Once
	a.stop = func(t testing.TB) {
		once.Do(func() {
			a.Client.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(context.Background(), app.StopTimeout())
			defer cancel()
			if err := app.Stop(ctx); err != nil {
				t.Errorf("stop the application: %v", err)
			}
		})
	}
	t.Cleanup(func() { a.stop(t) })
	if app.Addr() != nil {
		a.URL = "http://" + app.Addr().String()
	}
	return a
}

// managed reports whether the actuator has a web server of its own, which needs an
// address like the other. What is wrong with the configuration New says.
func managed(opts []fx.Option) bool {
	c, err := autoconfig.ReadConfiguration(opts...)
	if err != nil {
		return false
	}
	port := c.Management().Server.Port
	return port >= 0 && (port == 0 || port != c.Server().Port)
}

// Stop stops the application before the test ends: it deregisters, drains and
// closes. An error fails the test. A second call does nothing.
func (a *App) Stop(t testing.TB) {
	t.Helper()
	a.stop(t)
}

// Get returns status and body of a GET to the application.
func (a *App) Get(t testing.TB, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, a.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := a.Client.Do(req)
	if err != nil {
		t.Fatalf("get %s: %v", path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("get %s: %v", path, err)
	}
	return resp.StatusCode, string(text)
}
