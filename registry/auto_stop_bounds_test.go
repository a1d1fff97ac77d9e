package registry_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

func TestAR7_DrainIsBoundedByTheStopContext(t *testing.T) {
	tests := map[string]struct {
		drain, reserve, stop time.Duration
		want                 time.Duration
	}{
		"all of it":            {drain: 5 * time.Second, reserve: 20 * time.Second, stop: 30 * time.Second, want: 5 * time.Second},
		"less the reserve":     {drain: 15 * time.Second, reserve: 20 * time.Second, stop: 30 * time.Second, want: 10 * time.Second},
		"nothing left":         {drain: 15 * time.Second, reserve: 20 * time.Second, stop: 15 * time.Second, want: 0},
		"no deadline":          {drain: 15 * time.Second, reserve: 20 * time.Second, want: 15 * time.Second},
		"no drain":             {reserve: 20 * time.Second, stop: 30 * time.Second, want: 0},
		"up to the very limit": {drain: time.Minute, stop: 30 * time.Second, want: 30 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				auto := started(t, newFakeRegistry(), func(p *autoParams) {
					p.Options.Drain, p.Options.ShutdownReserve = test.drain, test.reserve
				})
				ctx := t.Context()
				if test.stop > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.stop)
					defer cancel()
				}
				begin := time.Now()
				require.NoError(t, auto.Stop(ctx))
				require.Equal(t, test.want, time.Since(begin))
			})
		})
	}
}

func TestAR8_StopBudget(t *testing.T) {
	o := registry.DefaultAutoOptions()
	require.Equal(t, 3*time.Second, o.StopBudget())
	o.Drain = 10 * time.Second
	require.Equal(t, 13*time.Second, o.StopBudget())
	o.Enabled = false
	require.Zero(t, o.StopBudget())
}

func TestAR10_ExpiredContextStillDeregisters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onDeregister = func(ctx context.Context, _ registry.Registration) error { return ctx.Err() }
		auto := started(t, f, func(p *autoParams) { p.Options.Drain = time.Minute })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()
		require.NoError(t, auto.Stop(ctx))
		require.Zero(t, time.Since(begin), "there is no time to drain")
		require.NoError(t, auto.LastError(), "the call had a context of its own")
		require.Equal(t, 1, f.count("deregister 192.0.2.7:8080"))
	})
}

func TestAR10_CutDrain(t *testing.T) {
	for name, after := range map[string]time.Duration{"during the drain": 3 * time.Second, "before the stop": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeRegistry()
				auto := started(t, f, func(p *autoParams) { p.Options.Drain = time.Minute })
				time.AfterFunc(after, func() { auto.CutDrain(); auto.CutDrain() })
				synctest.Wait()
				begin := time.Now()
				require.NoError(t, auto.Stop(t.Context()))
				require.Equal(t, after, time.Since(begin))
				f.empty(t)
			})
		})
	}
}

func TestStopLeavesBehindWhatIgnoresItsContext(t *testing.T) {
	deaf := func() error { time.Sleep(time.Minute); return nil }
	tests := map[string]struct {
		hook registry.HookFuncs
		want []string
	}{
		"before registering": {
			hook: registry.HookFuncs{BeforeRegister: func(context.Context, *registry.Registration) error { return deaf() }},
		},
		"after registering": {
			hook: registry.HookFuncs{AfterRegister: func(context.Context, registry.Registration) error { return deaf() }},
			want: []string{"register 192.0.2.7:8080", "deregister 192.0.2.7:8080"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeRegistry()
				auto := newAuto(t, f, func(p *autoParams) {
					p.Hooks = []registry.LifecycleHook{registry.NewHook("deaf", 0, test.hook)}
				})
				listening(t, auto, 8080)
				var all sync.WaitGroup
				all.Go(func() {
					if err := auto.Start(t.Context()); !errors.Is(err, registry.ErrStopped) {
						t.Errorf("Start returned %v", err)
					}
				})
				synctest.Wait()
				begin := time.Now()
				require.NoError(t, auto.Stop(t.Context()))
				require.Equal(t, 1500*time.Millisecond, time.Since(begin), "half of the time is kept for the call")
				all.Wait()
				require.Equal(t, test.want, f.all(), "and nothing is registered when it comes back at last")
				require.Equal(t, registry.StateStopped, auto.State())
			})
		})
	}
}

func TestCase21_StopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onDeregister = untilContext // a black hole
		slow := registry.NewHook("slow", 0, registry.HookFuncs{
			BeforeDeregister: untilContext,
			AfterDeregister:  untilContext,
		})
		auto := started(t, f, func(p *autoParams) { p.Hooks = []registry.LifecycleHook{slow} })
		begin := time.Now()
		require.NoError(t, auto.Stop(t.Context()))
		require.Equal(t, 3*time.Second, time.Since(begin))
		require.ErrorIs(t, auto.LastError(), context.DeadlineExceeded)
		require.Equal(t, registry.StateStopped, auto.State())
	})
}

func TestSecondStopMayGiveUpWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		auto := started(t, newFakeRegistry(), func(p *autoParams) { p.Options.Drain = time.Minute })
		var all sync.WaitGroup
		all.Go(func() {
			if err := auto.Stop(t.Context()); err != nil {
				t.Errorf("Stop returned %v", err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, auto.Stop(ctx), context.DeadlineExceeded)
		all.Wait()
	})
}
