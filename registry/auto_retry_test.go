package registry_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

func TestCase06_FailFastStopsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = downFor(5 * time.Second)
		b := &bus{journal: f.journal}
		auto := newAuto(t, f, func(p *autoParams) { p.Publisher = b })
		listening(t, auto, 8080)
		err := auto.Start(t.Context())
		require.ErrorIs(t, err, errDown)
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

// One thing went wrong, and it is told once: by the error that ends the start.
func TestCase06_AFailedStartIsToldOnce(t *testing.T) {
	var log bytes.Buffer
	f := newFakeRegistry()
	f.onRegister = func(context.Context, registry.Registration) error { return errDown }
	f.onDeregister = f.onRegister
	auto := newAuto(t, f, func(p *autoParams) { p.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	listening(t, auto, 8080)
	require.Equal(t, errDown, auto.Start(t.Context()), "the registry's error says what was attempted")
	require.Empty(t, log.String())
	require.Equal(t, 1, f.count("deregister 192.0.2.7:8080"), "tried all the same (A-R9)")

	f.onRegister = nil
	require.NoError(t, auto.Start(t.Context()))
	log.Reset()
	require.NoError(t, auto.Stop(t.Context()))
	require.Contains(t, log.String(), `msg="taking the registration back failed"`, "the registry had it, and may keep it")
}

func TestAR13_ARegistryThatPanicsIsAnErrorThatNamesTheCall(t *testing.T) {
	f := newFakeRegistry()
	boom := func(context.Context, registry.Registration) error { panic("boom") }
	f.onRegister, f.onDeregister = boom, boom
	auto := newAuto(t, f)
	listening(t, auto, 8080)
	var panicked *registry.PanicError
	err := auto.Start(t.Context())
	require.ErrorAs(t, err, &panicked)
	require.EqualError(t, err, "register 192.0.2.7:8080 of public/DEFAULT_GROUP@@orders: panic: boom")
	f.onRegister = nil
	require.NoError(t, auto.Start(t.Context()))
	f.onStatus = func(context.Context, registry.Registration, registry.Status) error { panic("boom") }
	require.EqualError(t, auto.SetStatus(t.Context(), registry.StatusDown), "set status of 192.0.2.7:8080 of public/DEFAULT_GROUP@@orders: panic: boom")
	require.NoError(t, auto.Stop(t.Context()))
	require.EqualError(t, auto.LastError(), "deregister 192.0.2.7:8080 of public/DEFAULT_GROUP@@orders: panic: boom")
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
