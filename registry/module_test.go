package registry_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/memory"
)

// TestAR14_LastHookOfTheApplication: the module itself starts nothing; whoever
// composes the application appends Start and Stop last.
func TestAR14_LastHookOfTheApplication(t *testing.T) {
	j := &journal{}
	template := template()
	template.Port = 8080
	var shared *memory.Registry
	app := fxtest.New(t,
		registry.Module,
		memory.Module,
		fx.Supply(template, registry.DefaultAutoOptions()),
		fx.Provide(
			fx.Annotate(func() registry.LifecycleHook { return recordingHook(j, "hook", 0) }, fx.ResultTags(`group:"registration.lifecycle"`)),
			fx.Annotate(func() registry.Customizer {
				return registry.Customizer{Name: "zone", Customize: func(r *registry.Registration) error {
					j.add("customizer")
					r.Metadata = map[string]string{"zone": "a"}
					return nil
				}}
			}, fx.ResultTags(`group:"registration.customizer"`)),
		),
		fx.Populate(&shared),
		fx.Invoke(func(l fx.Lifecycle) {
			l.Append(fx.StartHook(func() { j.add("user started") }))
		}),
		fx.Invoke(func(l fx.Lifecycle, auto *registry.AutoServiceRegistration) {
			l.Append(fx.Hook{OnStart: auto.Start, OnStop: auto.Stop})
		}),
	)
	app.RequireStart()
	instances := shared.Instances(template.Service)
	require.Len(t, instances, 1)
	require.Equal(t, "a", instances[0].Metadata["zone"])
	app.RequireStop()
	require.Empty(t, shared.Instances(template.Service))
	require.Equal(t, []string{
		"user started", "customizer", "hook before register", "hook after register",
		"hook before deregister", "hook after deregister",
	}, j.all())
}

func TestModuleWithoutOptionalParts(t *testing.T) {
	require.NoError(t, fx.ValidateApp(
		fx.NopLogger,
		registry.Module,
		fx.Supply(registry.Registration{}, registry.AutoOptions{}),
		fx.Provide(func() registry.ServiceRegistry { return newFakeRegistry() }),
		fx.Invoke(func(*registry.AutoServiceRegistration, context.Context) {}),
		fx.Provide(context.Background),
	))
}
