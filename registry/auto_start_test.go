package registry_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/rollcall-go/rollcall/registry"
)

type autoParams = registry.AutoServiceRegistrationParams

func TestAR1_OrderOfAStartAndAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		b := &bus{journal: f.journal}
		var auto *registry.AutoServiceRegistration
		b.on = func(_ context.Context, event any) error {
			if _, ok := event.(registry.InstanceRegistered); ok {
				require.Equal(t, registry.StateStarting, auto.State(), "registered is set last")
			}
			return nil
		}
		auto = newAuto(t, f, func(p *autoParams) {
			p.Publisher = b
			p.Hooks = []registry.LifecycleHook{recordingHook(f.journal, "b", 0), recordingHook(f.journal, "a", 0), recordingHook(f.journal, "z", -1)}
			p.Customizers = []registry.Customizer{{Name: "c", Customize: func(*registry.Registration) error { f.add("customizer"); return nil }}}
		})
		require.Equal(t, registry.StateNew, auto.State())
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		require.Equal(t, registry.StateRegistered, auto.State())
		require.NoError(t, auto.Stop(t.Context()))
		require.Equal(t, registry.StateStopped, auto.State())
		require.Equal(t, []string{
			"customizer",
			"event registry.InstancePreRegistered",
			"z before register", "a before register", "b before register",
			"register 192.0.2.7:8080",
			"z after register", "a after register", "b after register",
			"event registry.InstanceRegistered",
			"z before deregister", "a before deregister", "b before deregister",
			"deregister 192.0.2.7:8080",
			"z after deregister", "a after deregister", "b after deregister",
			"event registry.InstanceDeregistered",
		}, f.all())
	})
}

func TestAR1_ConcurrentStartsAndStopsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = func(context.Context, registry.Registration) error { time.Sleep(time.Second); return nil }
		auto := newAuto(t, f, func(p *autoParams) { p.Options.Drain = 5 * time.Second })
		listening(t, auto, 8080)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := auto.Start(t.Context()); err != nil || auto.State() != registry.StateRegistered {
					t.Errorf("Start returned in state %s with %v", auto.State(), err)
				}
			})
		}
		all.Wait()
		begin := time.Now()
		for range 3 {
			all.Go(func() {
				if err := auto.Stop(t.Context()); err != nil || auto.State() != registry.StateStopped {
					t.Errorf("Stop returned in state %s with %v", auto.State(), err)
				}
			})
		}
		all.Wait()
		require.Equal(t, 5*time.Second, time.Since(begin), "the drain is waited for once")
		require.Equal(t, []string{"register 192.0.2.7:8080", "deregister 192.0.2.7:8080"}, f.all())
	})
}

func TestAR1_StoppedIsFinal(t *testing.T) {
	for _, when := range []registry.RegisterWhen{registry.WhenReady, registry.WhenListening, registry.WhenManual} {
		f := newFakeRegistry()
		auto := newAuto(t, f, func(p *autoParams) { p.Options.When, p.Registration.Port = when, 8080 })
		require.NoError(t, auto.Stop(t.Context()))
		require.ErrorIs(t, auto.Register(t.Context()), registry.ErrStopped)
		if when == registry.WhenListening {
			require.ErrorIs(t, auto.OnWebServerStarted(t.Context(), webServer("", 1)), registry.ErrStopped)
		}
		if when != registry.WhenManual {
			require.ErrorIs(t, auto.Start(t.Context()), registry.ErrStopped)
		}
		require.ErrorIs(t, auto.SetStatus(t.Context(), registry.StatusDown), registry.ErrStopped)
		require.Equal(t, registry.StateStopped, auto.State())
		require.Empty(t, f.all())
	}
}

func TestDisabledDoesNothing(t *testing.T) {
	f := newFakeRegistry()
	auto := newAuto(t, f, func(p *autoParams) { p.Options = registry.AutoOptions{} })
	listening(t, auto, 8080)
	require.NoError(t, auto.Start(t.Context()))
	require.ErrorIs(t, auto.Register(t.Context()), registry.ErrDisabled)
	require.NoError(t, auto.Stop(t.Context()))
	require.Empty(t, f.all())
}

func TestCase01_RegisterWhen(t *testing.T) {
	tests := map[registry.RegisterWhen]struct {
		delay time.Duration
		want  time.Duration // after the web server listens; negative: never by itself
	}{
		registry.WhenReady:     {want: 2 * time.Second},
		registry.WhenListening: {want: 0},
		registry.WhenManual:    {want: -1},
	}
	for when, test := range tests {
		t.Run(string(when), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeRegistry()
				begin := time.Now()
				registeredAt := time.Duration(-1)
				f.onRegister = func(context.Context, registry.Registration) error {
					registeredAt = time.Since(begin)
					return nil
				}
				auto := newAuto(t, f, func(p *autoParams) { p.Options.When = when })
				life := fxtest.NewLifecycle(t)
				life.Append(fx.Hook{OnStart: func(ctx context.Context) error {
					return auto.OnWebServerStarted(ctx, webServer("", 8080))
				}})
				life.Append(fx.Hook{OnStart: func(context.Context) error { time.Sleep(2 * time.Second); return nil }}) // the user's warm-up
				life.Append(fx.Hook{OnStart: auto.Start, OnStop: auto.Stop})
				life.RequireStart()
				time.Sleep(time.Hour)
				require.Equal(t, test.want, registeredAt)
				if when == registry.WhenManual {
					require.Equal(t, registry.StateNew, auto.State())
					require.NoError(t, auto.Register(t.Context()))
				}
				require.Equal(t, registry.StateRegistered, auto.State())
				life.RequireStop()
				f.empty(t)
			})
		})
	}
}

func TestAR5_DelayDoesNotHoldUpTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = downFor(20 * time.Second) // and so the first attempt fails
		auto := newAuto(t, f, func(p *autoParams) { p.Options.Delay = 10 * time.Second })
		listening(t, auto, 8080)
		begin := time.Now()
		require.NoError(t, auto.Start(t.Context()))
		require.Zero(t, time.Since(begin))
		require.Equal(t, registry.StateStarting, auto.State())

		time.Sleep(10*time.Second - 1)
		require.Empty(t, f.all())
		time.Sleep(time.Second)
		require.Len(t, f.all(), 1)
		require.Equal(t, registry.StateFailed, auto.State(), "and it is tried again, as the start cannot be aborted any more")
		time.Sleep(30 * time.Second)
		require.Equal(t, registry.StateRegistered, auto.State())
		require.NoError(t, auto.Stop(t.Context()))
	})
}

func TestAR5_StopDuringTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		auto := newAuto(t, f, func(p *autoParams) { p.Options.Delay, p.Options.Drain = 10*time.Second, time.Minute })
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		time.Sleep(time.Second)
		begin := time.Now()
		require.NoError(t, auto.Stop(t.Context()))
		require.Zero(t, time.Since(begin), "nobody ever knew the instance: there is nothing to drain")
		time.Sleep(time.Hour)
		require.Empty(t, f.all())
	})
}

func TestAR5_RegisterIgnoresTheDelay(t *testing.T) {
	f := newFakeRegistry()
	auto := newAuto(t, f, func(p *autoParams) {
		p.Options.When, p.Options.Delay, p.Registration.Port = registry.WhenManual, time.Hour, 8080
	})
	require.NoError(t, auto.Register(t.Context()))
	require.NoError(t, auto.Register(t.Context()))
	require.Len(t, f.all(), 1)
	require.NoError(t, auto.Stop(t.Context()))
}

func TestCase03_ExplicitAddressWins(t *testing.T) {
	f := newFakeRegistry()
	auto := newAuto(t, f, func(p *autoParams) { p.Registration.IP, p.Registration.Port = "127.0.0.9", 9999 })
	listening(t, auto, 43210)
	require.NoError(t, auto.Start(t.Context()))
	require.Equal(t, "127.0.0.9:9999", f.only(t).Address())
	require.NoError(t, auto.Stop(t.Context()))
}

func TestCase04_ManagementServerIsIgnored(t *testing.T) {
	for _, when := range []registry.RegisterWhen{registry.WhenReady, registry.WhenListening} {
		t.Run(string(when), func(t *testing.T) {
			f := newFakeRegistry()
			auto := newAuto(t, f, func(p *autoParams) {
				p.Options.When = when
				p.Registration.Metadata = map[string]string{registry.MetadataManagementPort: "9090"}
			})
			require.NoError(t, auto.OnWebServerStarted(t.Context(), webServer(registry.NamespaceManagement, 9090)))
			require.Empty(t, f.all())
			listening(t, auto, 8080)
			listening(t, auto, 8081) // a second server of the application changes nothing
			require.NoError(t, auto.Start(t.Context()))
			require.Equal(t, 8080, f.only(t).Port)
			require.Equal(t, "9090", f.only(t).Metadata[registry.MetadataManagementPort])
			require.NoError(t, auto.Stop(t.Context()))
		})
	}
}

func TestAR3_AManagementServerAloneIsNoWebServer(t *testing.T) {
	f := newFakeRegistry()
	auto := newAuto(t, f)
	require.NoError(t, auto.OnWebServerStarted(t.Context(), webServer(registry.NamespaceManagement, 9090)))
	require.NoError(t, auto.Start(t.Context()))
	require.Empty(t, f.all(), "its port is not the application's")
	require.NoError(t, auto.Stop(t.Context()))
}

func TestCase05_PortZeroNeverLeaves(t *testing.T) {
	t.Run("the listener's port", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		f := newFakeRegistry()
		auto := newAuto(t, f)
		require.NoError(t, auto.OnWebServerStarted(t.Context(), registry.WebServerStarted{Addr: l.Addr()}))
		require.NoError(t, auto.Start(t.Context()))
		require.Equal(t, l.Addr().(*net.TCPAddr).Port, f.only(t).Port)
		require.NoError(t, auto.Stop(t.Context()))
	})
	t.Run("an impossible template", func(t *testing.T) {
		for _, bad := range []int{-1, 65536} {
			_, err := registry.NewAutoServiceRegistration(params(newFakeRegistry(), func(p *autoParams) { p.Registration.Port = bad }))
			require.ErrorContains(t, err, "cloud.nacos.discovery.port")
		}
	})
	t.Run("a customizer that breaks it", func(t *testing.T) {
		f := newFakeRegistry()
		auto := newAuto(t, f, func(p *autoParams) {
			p.Options.FailFast = false // no attempt can succeed, so the start fails all the same
			p.Customizers = []registry.Customizer{{Name: "zero", Customize: func(r *registry.Registration) error { r.Port = 0; return nil }}}
		})
		listening(t, auto, 8080)
		err := auto.Start(t.Context())
		require.ErrorIs(t, err, registry.ErrInvalidRegistration)
		require.ErrorContains(t, err, "cloud.nacos.discovery.port 0")
		require.Empty(t, f.all())
		require.NoError(t, auto.Stop(t.Context()))
	})
	t.Run("no port at all", func(t *testing.T) {
		f := newFakeRegistry()
		auto := newAuto(t, f)
		require.ErrorIs(t, auto.Register(t.Context()), registry.ErrInvalidRegistration)
		require.Empty(t, f.all())
		require.NoError(t, auto.Stop(t.Context()))
	})
}

func TestAR2_PortOfOtherListeners(t *testing.T) {
	tests := map[string]struct {
		addr net.Addr
		want int
	}{
		"named":       {textAddr("pipe:8080"), 8080},
		"IPv6":        {textAddr("[::1]:81"), 81},
		"Unix socket": {&net.UnixAddr{Name: "/run/app.sock"}, 0},
		"not a port":  {textAddr("host:http"), 0},
		"too large":   {textAddr("host:65536"), 0},
		"none":        {nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFakeRegistry()
			auto := newAuto(t, f)
			require.NoError(t, auto.OnWebServerStarted(t.Context(), registry.WebServerStarted{Addr: test.addr}))
			require.NoError(t, auto.Start(t.Context()))
			if test.want == 0 {
				require.Empty(t, f.all())
			} else {
				require.Equal(t, test.want, f.only(t).Port)
			}
			require.NoError(t, auto.Stop(t.Context()))
		})
	}
}

type textAddr string

func (a textAddr) Network() string { return "text" }
func (a textAddr) String() string  { return string(a) }

func TestCase06_FailFastStopsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = downFor(5 * time.Second)
		b := &bus{journal: f.journal}
		auto := newAuto(t, f, func(p *autoParams) { p.Publisher = b })
		listening(t, auto, 8080)
		err := auto.Start(t.Context())
		require.ErrorIs(t, err, errDown)
		require.ErrorContains(t, err, "public/DEFAULT_GROUP@@orders at 192.0.2.7:8080")
		require.Equal(t, registry.StateFailed, auto.State())
		require.ErrorIs(t, auto.LastError(), errDown)
		time.Sleep(time.Hour)
		require.Equal(t, []string{
			"event registry.InstancePreRegistered",
			"register 192.0.2.7:8080",
			"event registry.RegistrationFailed",
			"deregister 192.0.2.7:8080", // as fx does not call the hook of a start that failed
			"event registry.InstanceDeregistered",
		}, f.all())

		require.NoError(t, auto.Start(t.Context()), "whoever starts again, later, may")
		require.Equal(t, registry.StateRegistered, auto.State())
		require.NoError(t, auto.LastError())
		require.NoError(t, auto.Stop(t.Context()))
	})
}

func TestCase06_RetriesInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = downFor(5 * time.Second)
		auto := newAuto(t, f, func(p *autoParams) { p.Options.FailFast = false })
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		require.Equal(t, registry.StateFailed, auto.State())
		require.ErrorIs(t, auto.LastError(), errDown)
		require.NoError(t, auto.Start(t.Context()), "one loop is enough")
		require.NoError(t, auto.Register(t.Context()))

		time.Sleep(time.Hour)
		require.Equal(t, registry.StateRegistered, auto.State())
		require.NoError(t, auto.LastError())
		require.Equal(t, 4, f.count("register 192.0.2.7:8080"), "at 0, 1, 3 and 7 seconds")
		f.only(t)
		require.NoError(t, auto.Stop(t.Context()))
		f.empty(t)
	})
}

func TestAR6_PausesGrowToTheMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		begin := time.Now()
		var at []time.Duration
		f.onRegister = func(context.Context, registry.Registration) error {
			at = append(at, time.Since(begin))
			return errDown
		}
		random := []float64{0, 0.5, 1, 0.5, 0.5, 0.5, 0.5}
		auto := newAuto(t, f, func(p *autoParams) {
			p.Options.FailFast = false
			p.Options.Retry = registry.RetryOptions{
				Initial: time.Second, Max: 5 * time.Second, Jitter: 0.2,
				Rand: func() float64 { r := random[0]; random = random[1:]; return r },
			}
		})
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		time.Sleep(18 * time.Second)
		require.NoError(t, auto.Stop(t.Context()))
		require.Equal(t, []time.Duration{
			0,
			800 * time.Millisecond,   // 1 s, 20 % less
			2800 * time.Millisecond,  // 2 s
			7600 * time.Millisecond,  // 4 s, 20 % more
			12600 * time.Millisecond, // 5 s
			17600 * time.Millisecond,
		}, at)
	})
}

// TestAR6_ABlackHoleDoesNotUseUpTheStart: the start of an application is not
// aborted by its deadline either.
func TestAR6_ABlackHoleDoesNotUseUpTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = untilContext
		auto := newAuto(t, f, func(p *autoParams) { p.Options.FailFast = false })
		listening(t, auto, 8080)
		ctx, cancel := context.WithTimeout(t.Context(), 14*time.Second)
		defer cancel()
		begin := time.Now()
		require.NoError(t, auto.Start(ctx))
		require.Equal(t, 7*time.Second, time.Since(begin))
		require.NoError(t, ctx.Err())
		require.NoError(t, auto.Stop(t.Context()))
	})
}

func TestAR6_StopCancelsTheRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = func(context.Context, registry.Registration) error { return errDown }
		auto := newAuto(t, f, func(p *autoParams) { p.Options.FailFast, p.Options.Drain = false, time.Minute })
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		time.Sleep(2 * time.Second)
		begin := time.Now()
		require.NoError(t, auto.Stop(t.Context()))
		require.Zero(t, time.Since(begin), "nothing was ever accepted, so there is nothing to drain")
		time.Sleep(time.Hour)
		require.Equal(t, []string{
			"register 192.0.2.7:8080", "register 192.0.2.7:8080",
			"deregister 192.0.2.7:8080", // A-R9: the failed call may have reached the registry
		}, f.all())
	})
}

func TestAR6_RetryGivesUpOnAnInvalidRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		auto := newAuto(t, f, func(p *autoParams) {
			p.Options.Delay = time.Second
			p.Customizers = []registry.Customizer{{Customize: func(r *registry.Registration) error {
				f.add("customizer")
				r.Service.Name, r.IP = "", ""
				return nil
			}}}
		})
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		time.Sleep(time.Hour)
		require.Equal(t, []string{"customizer"}, f.all())
		require.Equal(t, registry.StateFailed, auto.State())
		require.ErrorContains(t, auto.LastError(), "cloud.nacos.discovery.service")
		require.ErrorContains(t, auto.LastError(), "cloud.nacos.discovery.ip")
		require.NoError(t, auto.Stop(t.Context()))
	})
}

func TestCase07_NoListenerNoRegistration(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()

	f := newFakeRegistry()
	auto := newAuto(t, f, func(p *autoParams) { p.Registration.Port = 8080 })
	life := fxtest.NewLifecycle(t)
	life.Append(fx.Hook{OnStart: func(ctx context.Context) error {
		l, err := net.Listen("tcp", taken.Addr().String())
		if err != nil {
			return err
		}
		return errors.Join(errors.New("the port was free"), l.Close())
	}})
	life.Append(fx.Hook{OnStart: auto.Start, OnStop: auto.Stop})
	require.ErrorContains(t, life.Start(t.Context()), "address already in use")
	require.Empty(t, f.all())
	require.Equal(t, registry.StateNew, auto.State())
}

func TestAR4_NothingListensNothingIsRegistered(t *testing.T) {
	f := newFakeRegistry()
	auto := newAuto(t, f, func(p *autoParams) { p.Options.When, p.Registration.Port = registry.WhenListening, 8080 })
	require.NoError(t, auto.Stop(t.Context()), "the start of the application ended with the listener's error")
	require.Empty(t, f.all())
}

func TestAR11_WithoutAWebServer(t *testing.T) {
	f := newFakeRegistry()
	auto := newAuto(t, f)
	require.NoError(t, auto.Start(t.Context()), "no server and no port: this application does not register")
	require.Equal(t, registry.StateNew, auto.State())
	require.NoError(t, auto.Stop(t.Context()))
	require.Empty(t, f.all())

	for _, when := range []registry.RegisterWhen{registry.WhenReady, registry.WhenListening} {
		f := newFakeRegistry()
		auto := newAuto(t, f, func(p *autoParams) { p.Options.When, p.Registration.Port = when, 7000 })
		require.NoError(t, auto.Start(t.Context()))
		require.Equal(t, 7000, f.only(t).Port)
		require.NoError(t, auto.Stop(t.Context()))
	}
}

func TestStartHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = untilContext
		auto := newAuto(t, f)
		listening(t, auto, 8080)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		begin := time.Now()
		var second error
		var all sync.WaitGroup
		all.Go(func() {
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			synctest.Wait()
			second = auto.Start(short) // waits for the first one, but not longer than it may
		})
		require.ErrorIs(t, auto.Start(ctx), context.DeadlineExceeded)
		require.Equal(t, 4*time.Second, time.Since(begin))
		all.Wait()
		require.ErrorIs(t, second, context.DeadlineExceeded)
		require.NoError(t, auto.Stop(t.Context()))
	})
}
