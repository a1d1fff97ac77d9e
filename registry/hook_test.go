package registry_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

func TestAR13_APanicIsTheHooksError(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		change func(*autoParams)
		want   string
	}{
		"hook before": {func(p *autoParams) {
			p.Hooks = []registry.LifecycleHook{registry.NewHook("warm-up", 0, registry.HookFuncs{
				BeforeRegister: func(context.Context, *registry.Registration) error { panic(boom) },
			})}
		}, "hook warm-up before registering: panic: boom"},
		"hook after": {func(p *autoParams) {
			p.Hooks = []registry.LifecycleHook{registry.NewHook("warm-up", 0, registry.HookFuncs{
				AfterRegister: func(context.Context, registry.Registration) error { panic(boom) },
			})}
		}, "hook warm-up after registering: panic: boom"},
		"customizer": {func(p *autoParams) {
			p.Customizers = []registry.Customizer{{Name: "zone", Customize: func(*registry.Registration) error { panic(boom) }}}
		}, "customizer zone: panic: boom"},
		"listener": {func(p *autoParams) {
			p.Publisher = &bus{journal: &journal{}, on: func(context.Context, any) error { panic(boom) }}
		}, "listener of registry.InstancePreRegistered: panic: boom"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFakeRegistry()
			auto := newAuto(t, f, test.change)
			listening(t, auto, 8080)
			err := auto.Start(t.Context())
			require.EqualError(t, err, test.want)
			require.ErrorIs(t, err, boom)
			var p *registry.PanicError
			require.ErrorAs(t, err, &p)
			require.NotEmpty(t, p.Stack)
			require.Equal(t, registry.StateFailed, auto.State())
			f.empty(t)
			require.NoError(t, auto.Stop(t.Context()))
		})
	}
}

// TestLayersOfARegistration: properties, then customizers in their order, then
// the listeners of the event, then the hooks; each sees what came before.
func TestLayersOfARegistration(t *testing.T) {
	f := newFakeRegistry()
	add := func(r *registry.Registration, who string) { r.Metadata["layers"] += who }
	customizer := func(name string, order int) registry.Customizer {
		return registry.Customizer{Name: name, Order: order, Customize: func(r *registry.Registration) error {
			require.Equal(t, 8080, r.Port, "the port is resolved before")
			add(r, name)
			return nil
		}}
	}
	var kept *registry.Registration
	auto := newAuto(t, f, func(p *autoParams) {
		p.Registration.Metadata = map[string]string{"layers": "p"}
		p.Customizers = []registry.Customizer{customizer("2", 1), customizer("1", 1), customizer("3", 2), customizer("0", -1)}
		p.Publisher = &bus{journal: &journal{}, on: func(_ context.Context, event any) error {
			if e, ok := event.(registry.InstancePreRegistered); ok {
				add(e.Registration, "e")
			}
			return nil
		}}
		p.Hooks = []registry.LifecycleHook{registry.NewHook("h", 0, registry.HookFuncs{
			BeforeRegister: func(_ context.Context, r *registry.Registration) error { add(r, "h"); kept = r; return nil },
			AfterRegister: func(_ context.Context, r registry.Registration) error {
				r.Metadata["layers"] = "a value of the hook's own"
				return nil
			},
		})}
	})
	listening(t, auto, 8080)
	require.NoError(t, auto.Start(t.Context()))
	add(kept, " and later")
	require.Equal(t, "p0123eh", f.only(t).Metadata["layers"])
	require.Equal(t, "p0123eh", auto.Registration().Metadata["layers"])

	auto.Registration().Metadata["layers"] = "a copy"
	require.Equal(t, "p0123eh", auto.Registration().Metadata["layers"])
	require.NoError(t, auto.Stop(t.Context()))
}

// TestTemplateIsNotShared: the caller's map is copied, and each attempt starts
// from what was configured.
func TestTemplateIsNotShared(t *testing.T) {
	f := newFakeRegistry()
	metadata := map[string]string{"a": "1"}
	want := maps.Clone(metadata)
	attempts := 0
	auto := newAuto(t, f, func(p *autoParams) {
		p.Registration.Metadata = metadata
		p.Hooks = []registry.LifecycleHook{registry.NewHook("h", 0, registry.HookFuncs{
			BeforeRegister: func(_ context.Context, r *registry.Registration) error {
				require.Equal(t, want, r.Metadata)
				r.Metadata["seen"] = "true"
				if attempts++; attempts == 1 {
					return errDown
				}
				return nil
			},
		})}
	})
	metadata["a"] = "2"
	listening(t, auto, 8080)
	require.ErrorIs(t, auto.Start(t.Context()), errDown)
	require.NoError(t, auto.Start(t.Context()))
	require.NoError(t, auto.Stop(t.Context()))
}

func TestNewHookWithoutParts(t *testing.T) {
	h := registry.NewHook("empty", 3, registry.HookFuncs{})
	require.Equal(t, "empty", h.Name())
	require.Equal(t, 3, h.Order())
	r := template()
	require.NoError(t, h.BeforeRegister(t.Context(), &r))
	require.NoError(t, h.AfterRegister(t.Context(), r))
	require.NoError(t, h.BeforeDeregister(t.Context(), r))
	require.NoError(t, h.AfterDeregister(t.Context(), r))
}

func TestAR13_WhatIsNotThereIsAnErrorBeforeTheStart(t *testing.T) {
	for want, change := range map[string]func(*autoParams){
		"a lifecycle hook is nil":        func(p *autoParams) { p.Hooks = []registry.LifecycleHook{nil} },
		`customizer "c" has no function`: func(p *autoParams) { p.Customizers = []registry.Customizer{{Name: "c"}} },
	} {
		_, err := registry.NewAutoServiceRegistration(params(newFakeRegistry(), change))
		require.ErrorContains(t, err, want)
	}
}

// Everybody who may change the registration may write to its metadata, also where
// the configuration has none.
func TestMetadataCanAlwaysBeWrittenTo(t *testing.T) {
	u := &updating{fakeRegistry: newFakeRegistry()}
	auto := started(t, u.fakeRegistry, u.over, func(p *autoParams) {
		p.Customizers = []registry.Customizer{{Customize: func(r *registry.Registration) error {
			r.Metadata["a"] = "customizer"
			r.Metadata = nil
			return nil
		}}}
		p.Hooks = []registry.LifecycleHook{registry.NewHook("h", 0, registry.HookFuncs{
			BeforeRegister: func(_ context.Context, r *registry.Registration) error { r.Metadata["b"] = "hook"; return nil },
		})}
	})
	require.NoError(t, auto.Update(t.Context(), func(r *registry.Registration) { r.Metadata["c"] = "update" }))
	require.Equal(t, map[string]string{"b": "hook", "c": "update"}, u.only(t).Metadata)
	require.NoError(t, auto.Stop(t.Context()))
}
