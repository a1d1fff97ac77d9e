package registry_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

// updating is a fake registry that updates in place and adopts.
type updating struct {
	*fakeRegistry
	adopted func(registry.Registration)
}

func (u *updating) Update(_ context.Context, r registry.Registration) error {
	u.add("update %s", r.Address())
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.registered[r.Key()]; !ok {
		return registry.ErrNotFound
	}
	u.registered[r.Key()] = r
	return nil
}

func (u *updating) Watch(f func(registry.Registration)) { u.adopted = f }

// over has the application register at u instead.
func (u *updating) over(p *autoParams) { p.ServiceRegistry = u }

func TestUpdate_WeightMetadataAndEnabledByOneCall(t *testing.T) {
	u := &updating{fakeRegistry: newFakeRegistry()}
	b := &bus{journal: &journal{}}
	var event registry.RegistrationChanged
	b.on = func(_ context.Context, e any) error {
		if c, ok := e.(registry.RegistrationChanged); ok {
			event = c
		}
		return nil
	}
	auto := started(t, u.fakeRegistry, u.over, func(p *autoParams) { p.Publisher = b })
	require.NoError(t, auto.Update(t.Context(), func(r *registry.Registration) {
		r.Weight, r.Enabled, r.Metadata = 3, false, map[string]string{"color": "green"}
	}))
	require.Equal(t, []string{"register 192.0.2.7:8080", "update 192.0.2.7:8080"}, u.all())
	got := u.only(t)
	require.EqualValues(t, 3, got.Weight)
	require.False(t, got.Enabled)
	require.Equal(t, map[string]string{"color": "green"}, got.Metadata)
	require.Equal(t, got, auto.Registration())
	requireStatus(t, auto, registry.StatusDown)
	require.EqualValues(t, 1, event.Old.Weight)
	require.Equal(t, got, event.New)
	require.False(t, event.Remote)
	require.Equal(t, 1, b.count("event registry.StatusChanged"))

	require.NoError(t, auto.Update(t.Context(), func(*registry.Registration) {}))
	require.Len(t, u.all(), 2, "nothing changed, nothing is called")

	require.NoError(t, auto.Stop(t.Context()))
	u.empty(t)
	require.ErrorIs(t, auto.Update(t.Context(), func(*registry.Registration) {}), registry.ErrStopped)
}

// An ephemeral instance does not become a persistent one in place.
func TestUpdate_AnotherKindIsRegistered(t *testing.T) {
	u := &updating{fakeRegistry: newFakeRegistry()}
	auto := started(t, u.fakeRegistry, u.over)
	require.NoError(t, auto.Update(t.Context(), func(r *registry.Registration) { r.Ephemeral = false }))
	require.Equal(t, []string{"register 192.0.2.7:8080", "register 192.0.2.7:8080"}, u.all())
	require.False(t, u.only(t).Ephemeral)
	require.NoError(t, auto.Stop(t.Context()))
}

func TestUpdate_WithoutAnUpdaterRegistersAgain(t *testing.T) {
	f := newFakeRegistry()
	auto := started(t, f)
	require.NoError(t, auto.Update(t.Context(), func(r *registry.Registration) { r.Weight = 3 }))
	require.Equal(t, []string{"register 192.0.2.7:8080", "register 192.0.2.7:8080"}, f.all())
	require.EqualValues(t, 3, f.only(t).Weight)
	require.NoError(t, auto.Stop(t.Context()))
}

func TestUpdate_AnotherAddressIsRegisteredBeforeTheOldOneIsTakenOut(t *testing.T) {
	for name, change := range map[string]func(*registry.Registration){
		"namespace": func(r *registry.Registration) { r.Service.Namespace = "dev" },
		"group":     func(r *registry.Registration) { r.Service.Group = "G" },
		"service":   func(r *registry.Registration) { r.Service.Name = "other" },
		"cluster":   func(r *registry.Registration) { r.Cluster = "BLUE" },
		"ip":        func(r *registry.Registration) { r.IP = "192.0.2.8" },
		"port":      func(r *registry.Registration) { r.Port = 9090 },
	} {
		t.Run(name, func(t *testing.T) {
			u := &updating{fakeRegistry: newFakeRegistry()}
			auto := started(t, u.fakeRegistry, u.over)
			old := auto.Registration()
			require.NoError(t, auto.Update(t.Context(), change))
			now := auto.Registration()
			require.NotEqual(t, old.Key(), now.Key())
			require.Equal(t, now, u.only(t))
			require.Equal(t, []string{"register " + old.Address(), "register " + now.Address(), "deregister " + old.Address()}, u.all())
			require.NoError(t, auto.Stop(t.Context()))
			u.empty(t)
		})
	}
}

func TestUpdate_FailureLeavesEverythingAsItWas(t *testing.T) {
	f := newFakeRegistry()
	auto := started(t, f)
	before := auto.Registration()
	f.onRegister = func(context.Context, registry.Registration) error { return errDown }
	require.ErrorIs(t, auto.Update(t.Context(), func(r *registry.Registration) { r.Port = 9090 }), errDown)
	require.Equal(t, before, auto.Registration())
	require.Equal(t, "deregister 192.0.2.7:9090", f.all()[2], "it may have arrived")
	require.Equal(t, before, f.only(t))

	require.ErrorIs(t, auto.Update(t.Context(), func(r *registry.Registration) { r.Port = -1 }), registry.ErrInvalidRegistration)
	require.ErrorContains(t, auto.Update(t.Context(), func(*registry.Registration) { panic("mine") }), "mine")
	require.Equal(t, before, auto.Registration())

	f.onRegister = nil
	f.onDeregister = func(context.Context, registry.Registration) error { return errDown }
	err := auto.Update(t.Context(), func(r *registry.Registration) { r.Port = 9090 })
	require.ErrorIs(t, err, errDown)
	require.ErrorContains(t, err, "the change is made")
	require.Equal(t, 9090, auto.Registration().Port)
	require.NoError(t, auto.Stop(t.Context()))

	disabled := newAuto(t, newFakeRegistry(), func(p *autoParams) { p.Options.Enabled = false })
	require.ErrorIs(t, disabled.Update(t.Context(), func(*registry.Registration) {}), registry.ErrDisabled)
}

func TestUpdate_BeforeTheFirstAttemptIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		f.onRegister = downFor(5 * time.Second)
		auto := newAuto(t, f, func(p *autoParams) { p.Options.FailFast = false })
		require.NoError(t, auto.Update(t.Context(), func(r *registry.Registration) { r.Weight = 2 }))
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		require.NoError(t, auto.Update(t.Context(), func(r *registry.Registration) { r.Metadata = map[string]string{"a": "b"} }))
		time.Sleep(time.Minute)
		got := f.only(t)
		require.EqualValues(t, 2, got.Weight)
		require.Equal(t, "b", got.Metadata["a"])
		require.NoError(t, auto.Stop(t.Context()))
	})
}

// A stop that comes while an update moves the instance leaves neither.
func TestUpdate_StopMeanwhileLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		auto := started(t, f)
		f.onRegister = func(context.Context, registry.Registration) error { time.Sleep(2 * time.Second); return nil }
		done := make(chan error, 1)
		go func() {
			done <- auto.Update(t.Context(), func(r *registry.Registration) { r.Port = 9090 })
		}()
		synctest.Wait()
		require.NoError(t, auto.Stop(t.Context()), "it waits 1.5 s and goes on")
		require.ErrorIs(t, <-done, registry.ErrStopped)
		f.empty(t)
	})
}

// Everything at once, with a registry that takes its time: after the stop nothing
// is left, wherever it was moved meanwhile.
func TestUpdate_ConcurrentUseLeavesNothing(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			u := &updating{fakeRegistry: newFakeRegistry()}
			var calls atomic.Int64
			slow := func(context.Context, registry.Registration) error {
				n := calls.Add(1)
				time.Sleep(time.Duration(n%7) * 10 * time.Millisecond)
				if fails && n%5 == 0 {
					return errDown
				}
				return nil
			}
			auto := started(t, u.fakeRegistry, u.over)
			u.onRegister = slow
			var all sync.WaitGroup
			for i := range 6 {
				all.Go(func() {
					for n := range 40 {
						time.Sleep(time.Duration(i*3+n) * time.Millisecond)
						switch n % 5 {
						case 0:
							_ = auto.Update(t.Context(), func(r *registry.Registration) { r.Port = 9000 + i })
						case 1:
							_ = auto.Update(t.Context(), func(r *registry.Registration) { r.Weight = float64(n) })
						case 2:
							u.adopted(auto.Registration())
						case 3:
							_ = auto.Refresh(t.Context(), template(), nil)
						default:
							_ = auto.SetStatus(t.Context(), []registry.Status{registry.StatusUp, registry.StatusDown}[n%2])
						}
						_, _ = auto.State(), auto.Registration()
					}
				})
			}
			time.Sleep(700 * time.Millisecond)
			require.NoError(t, auto.Stop(t.Context()))
			u.empty(t)
			all.Wait()
			u.empty(t)
		})
	}
}

// The layers: properties < customizers < hooks < run time. A refresh of the
// properties keeps what the others set.
func TestCase25_ARefreshKeepsTheUpperLayers(t *testing.T) {
	u := &updating{fakeRegistry: newFakeRegistry()}
	configured := func(p *autoParams) {
		p.Registration.Metadata = map[string]string{"from": "properties", "version": "1", "zone": "a"}
		p.Customizers = []registry.Customizer{{Name: "c", Customize: func(r *registry.Registration) error {
			r.Metadata["custom"], r.Metadata["zone"] = "yes", "custom of "+r.Metadata["version"]
			return nil
		}}}
		p.Hooks = []registry.LifecycleHook{registry.NewHook("h", 0, registry.HookFuncs{
			BeforeRegister: func(_ context.Context, r *registry.Registration) error {
				r.Metadata["hook"] = "yes"
				delete(r.Metadata, "from")
				return nil
			},
		})}
	}
	auto := started(t, u.fakeRegistry, u.over, configured)
	require.NoError(t, auto.Update(t.Context(), func(r *registry.Registration) { r.Metadata["runtime"] = "yes" }))
	require.NoError(t, auto.SetStatus(t.Context(), registry.StatusDown))

	next := template()
	next.Weight, next.Metadata = 4, map[string]string{"from": "properties", "version": "2", "runtime": "no", "new": "key"}
	require.NoError(t, auto.Refresh(t.Context(), next, nil))
	got := u.only(t)
	require.EqualValues(t, 4, got.Weight)
	require.Equal(t, 8080, got.Port, "still the web server's")
	require.False(t, got.Enabled, "the status is a change at run time")
	require.Equal(t, map[string]string{
		"version": "2", "new": "key", "custom": "yes", "zone": "custom of 2", "hook": "yes", "runtime": "yes",
	}, got.Metadata)
	require.Equal(t, "update 192.0.2.7:8080", u.all()[len(u.all())-1])

	calls := len(u.all())
	require.NoError(t, auto.Refresh(t.Context(), next, nil))
	require.Len(t, u.all(), calls, "the same again is no call")
	require.NoError(t, auto.Stop(t.Context()))
}

func TestRefresh_TellsWhenTheNewInstanceIsThereAndTheFormerStillIs(t *testing.T) {
	f := newFakeRegistry()
	auto := started(t, f)
	next := template()
	next.Service.Group = "G"
	var then []string
	require.NoError(t, auto.Refresh(t.Context(), next, func() { then = f.all() }))
	all := f.all()
	require.Equal(t, all[:len(all)-1], then, "all but taking the former out")
	require.Contains(t, then[len(then)-1], "register ")
	require.Contains(t, all[len(all)-1], "deregister ")

	f.onRegister = func(context.Context, registry.Registration) error { return errors.New("refused") }
	next.Service.Group = "H"
	require.ErrorContains(t, auto.Refresh(t.Context(), next, func() { t.Error("told of a change that was refused") }), "refused")
	require.NoError(t, auto.Stop(t.Context()))
}

func TestRenew_AFailureIsToldAndAttemptsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRegistry()
		var down atomic.Bool
		f.onRegister = func(context.Context, registry.Registration) error {
			if down.Load() {
				return errDown
			}
			return nil
		}
		auto := newAuto(t, f)
		require.NoError(t, auto.Renew(t.Context()), "nothing was registered yet")
		require.Empty(t, f.all())
		listening(t, auto, 8080)
		require.NoError(t, auto.Start(t.Context()))
		require.NoError(t, auto.Renew(t.Context()))
		require.Len(t, f.all(), 2)

		down.Store(true)
		require.ErrorIs(t, auto.Renew(t.Context()), errDown)
		require.Equal(t, registry.StateFailed, auto.State())
		require.ErrorIs(t, auto.LastError(), errDown)
		require.NoError(t, auto.Renew(t.Context()), "attempts go on")
		down.Store(false)
		time.Sleep(time.Hour)
		require.Equal(t, registry.StateRegistered, auto.State())
		require.NoError(t, auto.LastError())
		require.NoError(t, auto.Stop(t.Context()))
		f.empty(t)
		require.ErrorIs(t, auto.Renew(t.Context()), registry.ErrStopped)
	})
}

// The configuration is read again while hooks work on what it said before.
func TestRefresh_DuringAnAttemptIsNotLost(t *testing.T) {
	f := newFakeRegistry()
	var auto *registry.AutoServiceRegistration
	runs := 0
	auto = newAuto(t, f, func(p *autoParams) {
		p.Hooks = []registry.LifecycleHook{registry.NewHook("slow", 0, registry.HookFuncs{
			BeforeRegister: func(ctx context.Context, r *registry.Registration) error {
				if runs++; runs > 1 {
					return nil
				}
				next := template()
				next.Weight, next.Service.Group = 5, "G"
				return auto.Refresh(ctx, next, nil)
			},
		})}
	})
	listening(t, auto, 8080)
	require.NoError(t, auto.Start(t.Context()))
	require.Equal(t, 2, runs)
	require.EqualValues(t, 5, f.only(t).Weight)
	require.Equal(t, "G", f.only(t).Service.Group)
	require.Len(t, f.all(), 1, "one call")
	require.Equal(t, f.only(t).Key(), auto.Registration().Key())
	require.NoError(t, auto.Stop(t.Context()))
	f.empty(t)
}

func TestRefresh_ACustomizerThatFailsChangesNothing(t *testing.T) {
	u := &updating{fakeRegistry: newFakeRegistry()}
	broken := false
	auto := started(t, u.fakeRegistry, u.over, func(p *autoParams) {
		p.Customizers = []registry.Customizer{{Name: "c", Customize: func(*registry.Registration) error {
			if broken {
				return errors.New("no")
			}
			return nil
		}}}
	})
	broken = true
	next := template()
	next.Weight = 4
	require.ErrorContains(t, auto.Refresh(t.Context(), next, nil), "customizer c")
	require.EqualValues(t, 1, u.only(t).Weight)
	require.NoError(t, auto.Stop(t.Context()))
}

// What an operator changed at the registry is a change at run time: a refresh of
// the properties does not undo it.
func TestCase25_AdoptedChangesAreOfTheUppermostLayer(t *testing.T) {
	u := &updating{fakeRegistry: newFakeRegistry()}
	var remote []registry.RegistrationChanged
	auto := started(t, u.fakeRegistry, u.over, func(p *autoParams) {
		p.Registration.Metadata = map[string]string{"version": "1"}
		p.Publisher = registry.PublisherFunc(func(_ context.Context, e any) error {
			if c, ok := e.(registry.RegistrationChanged); ok && c.Remote {
				remote = append(remote, c)
			}
			return nil
		})
	})
	console := u.only(t)
	console.Weight, console.Metadata = 5, map[string]string{"version": "console"}
	u.adopted(console)
	require.EqualValues(t, 5, auto.Registration().Weight)
	require.Len(t, remote, 1)
	require.EqualValues(t, 1, remote[0].Old.Weight)

	other := console
	other.Port = 1
	u.adopted(other)
	require.Len(t, remote, 1, "another instance is not ours")

	next := template()
	next.Weight, next.Metadata = 2, map[string]string{"version": "2", "more": "x"}
	require.NoError(t, auto.Refresh(t.Context(), next, nil))
	got := u.only(t)
	require.EqualValues(t, 5, got.Weight)
	want := maps.Clone(console.Metadata)
	want["more"] = "x"
	require.Equal(t, want, got.Metadata)
	require.NoError(t, auto.Stop(t.Context()))
}
