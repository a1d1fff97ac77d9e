package registry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/rollcall-go/rollcall/registry"
)

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
