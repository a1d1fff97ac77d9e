package registry_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

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
