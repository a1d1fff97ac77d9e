package nacos_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
)

func TestModule_ProvidesOneRegistryAndClosesIt(t *testing.T) {
	var (
		concrete *nacos.Registry
		contract registry.ServiceRegistry
	)
	app := fxtest.New(t, nacos.Module,
		fx.Supply(nacos.Options{Connection: nacos.Connection{Servers: []string{"127.0.0.1:1"}}}),
		fx.Populate(&concrete, &contract))
	app.RequireStart()
	require.Same(t, concrete, contract)
	_, err := contract.Status(t.Context(), registration())
	require.ErrorIs(t, err, registry.ErrNotFound)
	app.RequireStop()
	_, err = contract.Status(t.Context(), registration())
	require.ErrorIs(t, err, registry.ErrClosed)
}

func TestModule_BadOptionsAreAnErrorOfTheGraph(t *testing.T) {
	app := fx.New(fx.NopLogger, nacos.Module, fx.Supply(nacos.Options{Connection: nacos.Connection{Servers: []string{"not a host"}}}),
		fx.Invoke(func(registry.ServiceRegistry) {}))
	require.ErrorContains(t, app.Err(), "not a host")
}
