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
