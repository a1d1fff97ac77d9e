package registry_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

// started returns a registration that has registered at 192.0.2.7:8080.
func started(t *testing.T, f *fakeRegistry, change ...func(*autoParams)) *registry.AutoServiceRegistration {
	t.Helper()
	auto := newAuto(t, f, change...)
	listening(t, auto, 8080)
	require.NoError(t, auto.Start(t.Context()))
	return auto
}

func TestAR7_StateChangesFirst(t *testing.T) {
	f := newFakeRegistry()
	var auto *registry.AutoServiceRegistration
	see := func(context.Context, registry.Registration) error {
		if auto.State() != registry.StateStopping {
			return errors.New("still " + string(auto.State()))
		}
		return nil
	}
	f.onDeregister = see
	auto = started(t, f, func(p *autoParams) {
		p.Hooks = []registry.LifecycleHook{registry.NewHook("h", 0, registry.HookFuncs{BeforeDeregister: see})}
	})
	require.NoError(t, auto.Stop(t.Context()))
	require.NoError(t, auto.LastError())
}

func TestAR9_PartialStartIsTakenBack(t *testing.T) {
	t.Run("a hook fails after the call", func(t *testing.T) {
		f := newFakeRegistry()
		auto := newAuto(t, f, func(p *autoParams) {
			p.Hooks = []registry.LifecycleHook{registry.NewHook("h", 0, registry.HookFuncs{
				AfterRegister: func(context.Context, registry.Registration) error { return errors.New("no thanks") },
			})}
		})
		listening(t, auto, 8080)
		require.ErrorContains(t, auto.Start(t.Context()), "hook h after registering: no thanks")
		f.empty(t)
		require.NoError(t, auto.Stop(t.Context()))
		require.Equal(t, []string{"register 192.0.2.7:8080", "deregister 192.0.2.7:8080"}, f.all(), "once")
	})
	t.Run("a hook fails before the call", func(t *testing.T) {
		f := newFakeRegistry()
		auto := newAuto(t, f, func(p *autoParams) {
			p.Hooks = []registry.LifecycleHook{registry.NewHook("h", 0, registry.HookFuncs{
				BeforeRegister: func(context.Context, *registry.Registration) error { return errors.New("no thanks") },
			})}
		})
		listening(t, auto, 8080)
		require.ErrorContains(t, auto.Start(t.Context()), "hook h before registering: no thanks")
		require.NoError(t, auto.Stop(t.Context()))
		require.Empty(t, f.all(), "nothing can have reached the registry")
	})
	t.Run("the stop comes during the call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeRegistry()
			f.onRegister = untilContext
			auto := newAuto(t, f)
			listening(t, auto, 8080)
			var all sync.WaitGroup
			all.Go(func() {
				if err := auto.Start(t.Context()); !errors.Is(err, registry.ErrStopped) {
					t.Errorf("Start returned %v", err)
				}
			})
			synctest.Wait()
			require.NoError(t, auto.Stop(t.Context()))
			all.Wait()
			require.Equal(t, registry.StateStopped, auto.State())
			require.Equal(t, []string{"register 192.0.2.7:8080", "deregister 192.0.2.7:8080"}, f.all())
		})
	})
	t.Run("the call succeeds during the stop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeRegistry()
			f.onRegister = func(context.Context, registry.Registration) error { time.Sleep(time.Second); return nil }
			auto := newAuto(t, f)
			listening(t, auto, 8080)
			var all sync.WaitGroup
			all.Go(func() {
				if err := auto.Start(t.Context()); !errors.Is(err, registry.ErrStopped) {
					t.Errorf("Start returned %v", err)
				}
			})
			synctest.Wait()
			require.NoError(t, auto.Stop(t.Context()))
			f.empty(t)
			all.Wait()
			require.Equal(t, registry.StateStopped, auto.State())
		})
	})
}

// TestCase08_NothingAfterTheDeregistration: an attempt that hangs until the
// registry answers is over before the instance is taken out, and none follows.
func TestCase08_NothingAfterTheDeregistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = func(ctx context.Context, _ registry.Registration) error {
			time.Sleep(300 * time.Millisecond)
			return errDown
		}
		auto := newAuto(t, f, func(p *autoParams) { p.Options.FailFast = false })
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		time.Sleep(time.Second + 100*time.Millisecond) // the second attempt is in flight
		require.Equal(t, registry.StateStarting, auto.State())
		require.ErrorIs(t, auto.LastError(), errDown, "what went wrong stays visible meanwhile")
		begin := time.Now()
		require.NoError(t, auto.Stop(t.Context()))
		require.Equal(t, 200*time.Millisecond, time.Since(begin))
		time.Sleep(time.Hour)
		require.Equal(t, []string{
			"register 192.0.2.7:8080", "register 192.0.2.7:8080", "deregister 192.0.2.7:8080",
		}, f.all())
	})
}

// TestCase20_DeregisterDrainThenClose: callers see the instance leave the
// registry, are served for as long as the drain lasts, and only then find the
// port closed.
func TestCase20_DeregisterDrainThenClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		listener := testutil.NewListener()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
		auto := newAuto(t, f, func(p *autoParams) { p.Options.Drain = 5 * time.Second })

		life := fxtest.NewLifecycle(t)
		life.Append(fx.Hook{
			OnStart: func(ctx context.Context) error {
				go func() { _ = server.Serve(listener) }()
				return auto.OnWebServerStarted(ctx, registry.WebServerStarted{Addr: listener.Addr()})
			},
			OnStop: func(ctx context.Context) error { f.add("close"); return server.Shutdown(ctx) },
		})
		life.Append(fx.Hook{OnStart: auto.Start, OnStop: auto.Stop})
		life.RequireStart()

		client := &http.Client{Transport: &http.Transport{DialContext: listener.Dial, DisableKeepAlives: true}}
		call := func() error {
			response, err := client.Get("http://orders/")
			if err != nil {
				return err
			}
			return response.Body.Close()
		}
		var traffic sync.WaitGroup
		begin := time.Now()
		traffic.Go(func() {
			for range 59 { // until 100 ms before the drain ends
				if err := call(); err != nil {
					t.Errorf("after %s: %v", time.Since(begin), err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			f.add("last request served")
		})
		time.Sleep(time.Second)
		stop := time.Now()
		life.RequireStop()
		require.Equal(t, 5*time.Second, time.Since(stop))
		require.Error(t, call())
		require.NoError(t, auto.Stop(t.Context()), "once is enough")
		require.Equal(t, 5*time.Second, time.Since(stop))
		traffic.Wait()
		require.Equal(t, []string{
			"register 192.0.2.7:8848", "deregister 192.0.2.7:8848", "last request served", "close",
		}, f.all())
	})
}

func TestCase22_FailuresDoNotStopTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onDeregister = func(context.Context, registry.Registration) error { return errDown }
		bad := func(context.Context, registry.Registration) error { panic("boom") }
		var seen error
		var log bytes.Buffer
		auto := newAuto(t, f, func(p *autoParams) {
			p.Logger = slog.New(slog.NewTextHandler(&log, nil))
			p.Publisher = &bus{journal: &journal{}, on: func(_ context.Context, event any) error {
				if e, ok := event.(registry.InstanceDeregistered); ok {
					seen = e.Err
					return errors.New("a listener that fails, too")
				}
				return nil
			}}
			p.Hooks = []registry.LifecycleHook{
				registry.NewHook("bad", 0, registry.HookFuncs{BeforeDeregister: bad, AfterDeregister: bad}),
				recordingHook(f.journal, "good", 1),
			}
		})
		life := fxtest.NewLifecycle(t)
		stopped := false
		life.Append(fx.Hook{OnStop: func(context.Context) error { stopped = true; return nil }})
		life.Append(fx.Hook{
			OnStart: func(ctx context.Context) error {
				if err := auto.OnWebServerStarted(ctx, webServer("", 8080)); err != nil {
					return err
				}
				return auto.Start(ctx)
			},
			OnStop: auto.Stop,
		})
		life.RequireStart()
		life.RequireStop()
		require.True(t, stopped)
		require.ErrorIs(t, seen, errDown)
		require.ErrorIs(t, auto.LastError(), errDown)
		require.Contains(t, log.String(), "hook bad before deregistering: panic: boom")
		require.Contains(t, log.String(), "TestCase22_FailuresDoNotStopTheStop", "the stack says where")
		require.Equal(t, []string{
			"good before register", "register 192.0.2.7:8080", "good after register",
			"good before deregister", "deregister 192.0.2.7:8080", "good after deregister",
		}, f.all())
	})
}

func TestCase22_ARegistryThatPanics(t *testing.T) {
	f := newFakeRegistry()
	f.onDeregister = func(context.Context, registry.Registration) error { panic(errDown) }
	auto := started(t, f)
	require.NoError(t, auto.Stop(t.Context()))
	var p *registry.PanicError
	require.ErrorAs(t, auto.LastError(), &p)
	require.ErrorIs(t, auto.LastError(), errDown)
	require.Contains(t, string(p.Stack), "TestCase22_ARegistryThatPanics")
}

// TestCase23_PersistentStaysPersistent: what is deregistered is what was
// registered, the ephemeral flag included.
func TestCase23_PersistentStaysPersistent(t *testing.T) {
	f := newFakeRegistry()
	var gone registry.Registration
	f.onDeregister = func(_ context.Context, r registry.Registration) error { gone = r; return nil }
	auto := started(t, f, func(p *autoParams) { p.Registration.Ephemeral, p.Registration.Cluster = false, "BLUE" })
	registered := f.only(t)
	require.NoError(t, auto.Stop(t.Context()))
	require.False(t, gone.Ephemeral)
	require.Equal(t, registered, gone)
}
