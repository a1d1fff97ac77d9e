package autoconfig

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/registry"
)

// slowStart is a component of the user's whose start takes two seconds, in a
// module of the user's.
func slowStart(j *journal) fx.Option {
	return fx.Module("user", fx.Invoke(func(lc fx.Lifecycle) {
		lc.Append(fx.Hook{
			OnStart: func(ctx context.Context) error {
				time.Sleep(2 * time.Second)
				j.add("user started")
				return ctx.Err()
			},
			OnStop: func(context.Context) error { j.add("user stopped"); return nil },
		})
	}))
}

// note writes the events of the application into the journal.
func note(j *journal) fx.Option {
	return fx.Invoke(func(b *EventBus) {
		Subscribe(b, func(context.Context, registry.WebServerStarted) error { j.add("listening"); return nil })
	})
}

func TestAR14_UserHooksRunBeforeTheServerListens(t *testing.T) {
	for name, opts := range map[string]func(j *journal) fx.Option{
		"in a module":       slowStart,
		"in nested modules": func(j *journal) fx.Option { return fx.Module("outer", slowStart(j)) },
		"listed first":      func(j *journal) fx.Option { return Options(slowStart(j), fx.Invoke(func(*gin.Engine) {})) },
		"at the root": func(j *journal) fx.Option {
			return fx.Invoke(func(lc fx.Lifecycle) {
				lc.Append(fx.StartHook(func() { time.Sleep(2 * time.Second); j.add("user started") }))
				lc.Append(fx.StopHook(func() { j.add("user stopped") }))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newFakeRegistry()
				listener, client := inMemory(t)
				began := time.Now()
				app := start(t, ConfigYAML(quiet), Backend(r), opts(r.journal), note(r.journal), listener)
				require.Equal(t, []string{"user started", "listening", "register"}, r.all())
				require.Equal(t, 2*time.Second, time.Since(began))
				client.CloseIdleConnections()
				stop(t, app)
				require.Equal(t, []string{"deregister", "user stopped"}, r.all()[3:])
			})
		})
	}
}

func TestAR14_AComponentThatTakesTheWebServerStartsAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRegistry()
		listener, _ := inMemory(t)
		start(t, ConfigYAML(quiet), Backend(r), note(r.journal), listener,
			fx.Invoke(func(lc fx.Lifecycle, w *WebServer) {
				lc.Append(fx.StartHook(func() error {
					if w.Addr() == nil {
						return errors.New("the server does not listen yet")
					}
					r.add("after the server")
					return nil
				}))
			}))
		require.Equal(t, []string{"listening", "after the server", "register"}, r.all())
	})
}

func TestCase01_RegisteredOnlyWhenTheWholeApplicationHasStarted(t *testing.T) {
	for when, want := range map[string][]string{
		// The user's component takes the web server, so that it starts after it:
		// only then do the moments differ.
		"ready":     {"user started", "register"},
		"listening": {"register", "user started"},
		"manual":    {"user started"},
	} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newFakeRegistry()
				listener, _ := inMemory(t)
				var auto *registry.AutoServiceRegistration
				start(t, ConfigYAML(quiet), Backend(r), listener, fx.Populate(&auto),
					Property("cloud.service-registry.auto-registration.register-when", when),
					fx.Invoke(func(lc fx.Lifecycle, _ *WebServer) {
						lc.Append(fx.StartHook(func() { time.Sleep(2 * time.Second); r.add("user started") }))
					}))
				require.Equal(t, want, r.all())
				if when == "manual" {
					require.NoError(t, auto.Register(t.Context()))
					require.Equal(t, append(want, "register"), r.all())
				}
			})
		})
	}
}

func TestCase01_DelayAndInitialStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRegistry()
		listener, _ := inMemory(t)
		start(t, ConfigYAML(quiet), Backend(r), listener,
			Property("cloud.service-registry.auto-registration.register-delay", "10s"),
			Property("cloud.service-registry.auto-registration.initial-status", "down"))
		require.Empty(t, r.all())
		time.Sleep(11 * time.Second)
		require.Equal(t, []string{"register"}, r.all())
		require.False(t, r.registered().Enabled)
	})
}

func TestAR3_Case04_TheManagementServerNeitherRegistersNorGivesThePort(t *testing.T) {
	r := newFakeRegistry()
	app := start(t, ConfigYAML(quiet), Backend(r), note(r.journal),
		Property("cloud.service-registry.auto-registration.register-when", "listening"),
		fx.Invoke(func(lc fx.Lifecycle, b *EventBus) {
			lc.Append(fx.StartHook(func(ctx context.Context) error {
				return b.Publish(ctx, registry.WebServerStarted{
					Namespace: registry.NamespaceManagement, Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9999},
				})
			}))
		}))
	// Once for the management server, which registers nothing, once for ours. The
	// note is subscribed before the registration.
	require.Equal(t, []string{"listening", "listening", "register"}, r.all())
	require.Equal(t, app.Addr().(*net.TCPAddr).Port, r.registered().Port)
}

// A start that fails once the web server listens closes it: nobody else would.
func TestAR6_AStartThatFailsLeavesNoListener(t *testing.T) {
	r := newFakeRegistry()
	r.failWith(func() error { return errors.New("connection refused") })
	app := assembled(t, ConfigYAML(quiet), Backend(r), Property("cloud.service-registry.auto-registration.register-when", "listening"),
		Property("server.address", "127.83.7.1")) // where nobody takes a port that has become free
	require.ErrorContains(t, app.Start(t.Context()), "connection refused")
	_, err := net.Dial("tcp", app.Addr().String())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestAR4_Case07_APortTakenIsTheErrorAndNothingRegisters(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, when := range []string{"ready", "listening"} {
		r := newFakeRegistry()
		app := assembled(t, ConfigYAML(quiet), Backend(r), note(r.journal), slowStop(r.journal),
			Property("cloud.service-registry.auto-registration.register-when", when),
			Property("server.port", taken.Addr().(*net.TCPAddr).Port))
		err := app.Start(t.Context())
		require.ErrorContains(t, err, "address already in use")
		require.ErrorContains(t, err, taken.Addr().String())
		require.NotContains(t, err.Error(), "registr")
		require.Equal(t, []string{"user stopped"}, r.all(), "what had started was stopped again")
	}
}

func slowStop(j *journal) fx.Option {
	return fx.Invoke(func(lc fx.Lifecycle) {
		lc.Append(fx.Hook{
			OnStart: func(context.Context) error { return nil },
			OnStop:  func(context.Context) error { j.add("user stopped"); return nil },
		})
	})
}

func TestAR9_AStartThatFailsAfterRegisteringIsTakenBack(t *testing.T) {
	r := newFakeRegistry()
	app := assembled(t, ConfigYAML(quiet), Backend(r),
		Property("cloud.service-registry.auto-registration.register-when", "listening"),
		fx.Invoke(func(lc fx.Lifecycle, _ *WebServer) {
			lc.Append(fx.StartHook(func() error { return errors.New("too late") }))
		}))
	require.EqualError(t, app.Start(t.Context()), "too late")
	require.Equal(t, []string{"register", "deregister"}, r.all())
}

func TestAR9_AStartThatIsCancelledStopsWhatHadStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRegistry()
		listener, _ := inMemory(t)
		app := assembled(t, ConfigYAML(quiet), Backend(r), listener, slowStop(r.journal),
			Property("cloud.service-registry.auto-registration.register-when", "listening"),
			fx.Invoke(func(lc fx.Lifecycle, _ *WebServer) {
				lc.Append(fx.StartHook(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }))
			}))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.ErrorIs(t, app.Start(ctx), context.DeadlineExceeded)
		require.Equal(t, []string{"register", "deregister", "user stopped"}, r.all())
	})
}

// A signal that arrives once the application is registered is one to stop it, with
// the drain that belongs to a stop.
func TestStart_IsNotUndoneOnceRegistered(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	app := assembled(t, ConfigYAML(quiet), Backend(newFakeRegistry()), fx.Invoke(func(bus *EventBus) {
		Subscribe(bus, func(context.Context, registry.InstanceRegistered) error {
			cancel()
			return nil
		})
	}))
	require.NoError(t, app.Start(ctx))
	require.Equal(t, registry.StateRegistered, app.registrar.registration.State())
	stop(t, app)
}

func TestAR9_AHookThatIgnoresItsContextIsNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, _ := inMemory(t)
		app := assembled(t, alone, listener, fx.Invoke(func(lc fx.Lifecycle) {
			lc.Append(fx.StartHook(func() { time.Sleep(time.Hour) }))
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		require.Error(t, app.Start(ctx))
		require.Equal(t, 5*time.Second+app.StopTimeout(), time.Since(began))
		time.Sleep(time.Hour) // the hook returns, and nothing starts after it
		require.Nil(t, app.Addr())
	})
}

func TestCase03_ExplicitAddressAndPortWin(t *testing.T) {
	r := newFakeRegistry()
	start(t, ConfigYAML(quiet), Backend(r),
		Property("cloud.nacos.discovery.ip", "127.0.0.9"), Property("cloud.nacos.discovery.port", 9999))
	require.Equal(t, "127.0.0.9:9999", r.registered().Address())
}

func TestCase05_TheBoundPortIsRegistered(t *testing.T) {
	r := newFakeRegistry()
	app := start(t, ConfigYAML(quiet), Backend(r), fx.Invoke(func(e *gin.Engine) {
		e.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
	}))
	require.NotZero(t, r.registered().Port)
	require.Equal(t, app.Addr().String(), r.registered().Address())
	status, body := getWith(t, &http.Client{Timeout: patience}, "http://"+r.registered().Address()+"/hello")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "hello", body)
}

func TestCase05_AnExplicitPortZeroIsAnErrorThatNamesTheKey(t *testing.T) {
	_, err := New(ConfigYAML(quiet), Property("cloud.nacos.discovery.port", 0))
	require.EqualError(t, err, `cloud.nacos.discovery.port: "0" must be 1 to 65535, or -1 for the web server's port (property)`)
	var problems *ConfigError
	require.ErrorAs(t, err, &problems)
	require.Equal(t, "cloud.nacos.discovery.port", problems.Problems[0].Key)
}

func TestCase06_ARegistryThatIsNotUpYet(t *testing.T) {
	refusing := func(since time.Time) func() error {
		return func() error {
			if time.Since(since) < 5*time.Second {
				return errors.New("connection refused")
			}
			return nil
		}
	}
	t.Run("fail-fast", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newFakeRegistry()
			r.failWith(refusing(time.Now()))
			listener, _ := inMemory(t)
			app := assembled(t, ConfigYAML(quiet), Backend(r), listener)
			err := app.Start(t.Context())
			require.ErrorContains(t, err, "connection refused")
			require.ErrorContains(t, err, "cloud.nacos.discovery.fail-fast is true")
			require.False(t, app.registrar.ready.Load())
		})
	})
	t.Run("a hook of the application's own is not the registry", func(t *testing.T) {
		hook := registry.NewHook("warm-up", 0, registry.HookFuncs{
			BeforeRegister: func(context.Context, *registry.Registration) error { return errors.New("cold") },
		})
		app := assembled(t, ConfigYAML(quiet), Backend(newFakeRegistry()), fx.Supply(
			fx.Annotate(hook, fx.As(new(registry.LifecycleHook)), fx.ResultTags(`group:"registration.lifecycle"`))))
		require.EqualError(t, app.Start(t.Context()), "hook warm-up before registering: cold")
	})
	t.Run("a start that is called off is not the registry either", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newFakeRegistry()
		r.failWith(func() error {
			cancel()
			return errors.New("called off")
		})
		err := assembled(t, ConfigYAML(quiet), Backend(r)).Start(ctx)
		require.ErrorContains(t, err, "called off")
		require.NotContains(t, err.Error(), "fail-fast")
	})
	t.Run("in the background", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newFakeRegistry()
			r.failWith(refusing(time.Now()))
			listener, client := inMemory(t)
			start(t, ConfigYAML(quiet), Backend(r), listener, Property("cloud.nacos.discovery.fail-fast", false))
			_, health := getWith(t, client, "http://app/actuator/health")
			require.Contains(t, health, `"registration":{"status":"DOWN","details":{"state":"failed"}}`)
			time.Sleep(10 * time.Second)
			_, health = getWith(t, client, "http://app/actuator/health")
			require.Contains(t, health, `"registration":{"status":"UP","details":{"state":"registered"}}`)
			succeeded := 0
			for _, line := range r.all() {
				if line == "register" {
					succeeded++
				}
			}
			require.Equal(t, 1, succeeded)
		})
	})
}

func TestAR11_WithoutAWebServer(t *testing.T) {
	r := newFakeRegistry()
	app := start(t, ConfigYAML(quiet), Backend(r), Property("server.port", -1), Property("cloud.nacos.discovery.port", 7000))
	require.Nil(t, app.Addr())
	require.Equal(t, "127.0.0.1:7000", r.registered().Address())
	stop(t, app)
	require.Equal(t, []string{"register", "deregister"}, r.all())

	r = newFakeRegistry()
	start(t, ConfigYAML(quiet), Backend(r), Property("server.port", -1))
	require.Empty(t, r.all(), "no server and no port: nothing to register")
}
