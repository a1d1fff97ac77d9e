package registry_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

func TestInitialStatusDownRegistersDisabled(t *testing.T) {
	f := newFakeRegistry()
	var log bytes.Buffer
	auto := started(t, f, func(p *autoParams) {
		p.Options.InitialStatus = registry.StatusDown
		p.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	require.False(t, f.only(t).Enabled)
	requireStatus(t, auto, registry.StatusDown)

	require.NoError(t, auto.SetStatus(t.Context(), registry.StatusUp))
	require.True(t, f.only(t).Enabled)
	require.True(t, auto.Registration().Enabled)
	requireStatus(t, auto, registry.StatusUp)
	require.Contains(t, log.String(), `msg="status declared" status=UP registration.service=public/`)
	require.NoError(t, auto.Stop(t.Context()))
}

func requireStatus(t *testing.T, auto *registry.AutoServiceRegistration, want registry.Status) {
	t.Helper()
	status, err := auto.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, status)
}

func TestStatusWithoutARegistration(t *testing.T) {
	auto := newAuto(t, newFakeRegistry())
	_, err := auto.Status(t.Context())
	require.ErrorIs(t, err, registry.ErrNotFound)
	require.ErrorIs(t, auto.SetStatus(t.Context(), "OUT_OF_SERVICE"), registry.ErrUnknownStatus)
	require.NoError(t, auto.Stop(t.Context()))
}

// TestBR4_StatusSurvivesReRegistration: what was switched at run time is the
// strongest layer, in every later attempt.
func TestBR4_StatusSurvivesReRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = downFor(5 * time.Second)
		b := &bus{journal: f.journal}
		var events []registry.StatusChanged
		b.on = func(_ context.Context, event any) error {
			if e, ok := event.(registry.StatusChanged); ok {
				events = append(events, e)
			}
			return nil
		}
		auto := newAuto(t, f, func(p *autoParams) {
			p.Options.FailFast, p.Publisher = false, b
			p.Customizers = []registry.Customizer{{Customize: func(r *registry.Registration) error { r.Enabled = true; return nil }}}
		})
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		require.NoError(t, auto.SetStatus(t.Context(), registry.StatusDown), "there is no registration yet to tell it to")
		require.Len(t, events, 1)
		require.Equal(t, registry.StatusDown, events[0].Status)
		require.False(t, events[0].Registration.Enabled)
		time.Sleep(time.Minute)
		require.False(t, f.only(t).Enabled)
		require.Zero(t, f.count("status 192.0.2.7:8080 DOWN"))
		require.NoError(t, auto.Stop(t.Context()))
	})
}

func TestSetStatusFailureLeavesItAsItWas(t *testing.T) {
	f := newFakeRegistry()
	b := &bus{journal: &journal{}}
	auto := started(t, f, func(p *autoParams) { p.Publisher = b })
	f.onStatus = func(context.Context, registry.Registration, registry.Status) error { return errDown }
	require.ErrorIs(t, auto.SetStatus(t.Context(), registry.StatusDown), errDown)
	require.True(t, auto.Registration().Enabled)
	require.Zero(t, b.count("event registry.StatusChanged"))
	require.NoError(t, auto.Stop(t.Context()))
}

// TestSetStatusWaitsForTheCallInFlight: a status set while the instance is being
// registered is not lost.
func TestSetStatusWaitsForTheCallInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = func(context.Context, registry.Registration) error { time.Sleep(time.Second); return nil }
		auto := newAuto(t, f)
		listening(t, auto, 8080)
		var all sync.WaitGroup
		all.Go(func() {
			if err := auto.Start(t.Context()); err != nil {
				t.Errorf("Start returned %v", err)
			}
		})
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, auto.SetStatus(short, registry.StatusDown), context.DeadlineExceeded)
		require.NoError(t, auto.SetStatus(t.Context(), registry.StatusDown))
		all.Wait()
		require.False(t, f.only(t).Enabled)
		require.Equal(t, []string{"register 192.0.2.7:8080", "status 192.0.2.7:8080 DOWN"}, f.all())
		require.NoError(t, auto.Stop(t.Context()))
	})
}

// TestStopWaitsForAStatusChange: a status change in flight would bring the
// instance back.
func TestStopWaitsForAStatusChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onStatus = func(context.Context, registry.Registration, registry.Status) error {
			time.Sleep(time.Second)
			return nil
		}
		auto := started(t, f)
		var all sync.WaitGroup
		all.Go(func() { _ = auto.SetStatus(t.Context(), registry.StatusDown) })
		synctest.Wait()
		require.NoError(t, auto.Stop(t.Context()))
		all.Wait()
		f.empty(t)
	})
}

// TestHooksAndListenersMayCallBack: none of them runs under a lock that the
// methods need.
func TestHooksAndListenersMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		var auto *registry.AutoServiceRegistration
		ask := func(ctx context.Context) error {
			_, _ = auto.State(), auto.Registration()
			_, err := auto.Status(ctx)
			if errors.Is(err, registry.ErrNotFound) {
				err = nil
			}
			return errors.Join(err, auto.LastError())
		}
		auto = newAuto(t, f, func(p *autoParams) {
			p.Publisher = &bus{journal: &journal{}, on: func(ctx context.Context, event any) error {
				if _, ok := event.(registry.InstanceRegistered); ok {
					return auto.SetStatus(ctx, registry.StatusDown)
				}
				return ask(ctx)
			}}
			p.Hooks = []registry.LifecycleHook{registry.NewHook("h", 0, registry.HookFuncs{
				BeforeRegister:   func(ctx context.Context, _ *registry.Registration) error { return ask(ctx) },
				AfterRegister:    func(ctx context.Context, _ registry.Registration) error { return ask(ctx) },
				BeforeDeregister: func(ctx context.Context, _ registry.Registration) error { return ask(ctx) },
				AfterDeregister:  func(ctx context.Context, _ registry.Registration) error { return ask(ctx) },
			})}
		})
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		require.False(t, f.only(t).Enabled)
		require.NoError(t, auto.Stop(t.Context()))
	})
}

func TestConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = downFor(3 * time.Second)
		auto := newAuto(t, f, func(p *autoParams) { p.Options.FailFast = false })
		listening(t, auto, 8080)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := range 50 {
					time.Sleep(time.Duration(i*7+n) * time.Millisecond)
					_ = auto.Start(t.Context())
					_ = auto.SetStatus(t.Context(), []registry.Status{registry.StatusUp, registry.StatusDown}[n%2])
					_, _ = auto.Status(t.Context())
					_, _, _ = auto.State(), auto.LastError(), auto.Registration()
				}
			})
		}
		time.Sleep(4 * time.Second)
		require.NoError(t, auto.Stop(t.Context()))
		require.Equal(t, registry.StateStopped, auto.State())
		f.empty(t)
		all.Wait()
		f.empty(t)
	})
}

// The latest word on the status counts, whichever way it was said.
func TestBR4_TheLatestStatusSurvivesWhoeverSetIt(t *testing.T) {
	u := &updating{fakeRegistry: newFakeRegistry()}
	auto := started(t, u.fakeRegistry, u.over)
	enable := func(to bool) {
		require.NoError(t, auto.Update(t.Context(), func(r *registry.Registration) { r.Enabled = to }))
	}
	declare := func(s registry.Status) { require.NoError(t, auto.SetStatus(t.Context(), s)) }
	for n, step := range []struct {
		say  func()
		want bool
	}{
		{func() { declare(registry.StatusUp); enable(false) }, false},
		{func() { declare(registry.StatusDown); enable(true) }, true},
		{func() { enable(false); declare(registry.StatusUp) }, true},
		{func() { enable(true); declare(registry.StatusDown) }, false},
	} {
		step.say()
		require.NoError(t, auto.Renew(t.Context()))
		require.Equal(t, step.want, u.only(t).Enabled, "step %d", n)
		next := template()
		next.Weight = float64(n + 2)
		require.NoError(t, auto.Refresh(t.Context(), next, nil))
		require.Equal(t, step.want, u.only(t).Enabled, "step %d, properties read again", n)
	}
	require.NoError(t, auto.Stop(t.Context()))
}
