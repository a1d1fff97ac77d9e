package registry_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

// moved returns a registration that moved from port 8080 to 9000 while the registry
// took nothing out, and a switch that has it do so.
func moved(t *testing.T) (auto *registry.AutoServiceRegistration, f *fakeRegistry, heal func()) {
	t.Helper()
	f = newFakeRegistry()
	f.onDeregister = func(context.Context, registry.Registration) error { return errDown }
	auto = newAuto(t, f)
	listening(t, auto, 8080)
	require.NoError(t, auto.Start(t.Context()))
	require.ErrorIs(t, auto.Update(t.Context(), toPort(9000)), errDown)
	require.Equal(t, 9000, auto.Registration().Port)
	return auto, f, func() { f.onDeregister = nil }
}

func toPort(port int) func(*registry.Registration) {
	return func(r *registry.Registration) { r.Port = port }
}

// A persistent instance that a move left behind would stay for ever.
func TestCase23_WhatAMoveLeftBehindGoesWithTheStop(t *testing.T) {
	auto, f, heal := moved(t)
	heal()
	require.NoError(t, auto.Stop(t.Context()))
	require.Equal(t, 2, f.count("deregister 192.0.2.7:8080"))
	require.Equal(t, 1, f.count("deregister 192.0.2.7:9000"))
}

func TestCase23_WhatAMoveLeftBehindGoesWithTheNextChange(t *testing.T) {
	auto, f, heal := moved(t)
	weigh := func(r *registry.Registration) { r.Weight = 2 }
	require.ErrorIs(t, auto.Update(t.Context(), weigh), errDown, "it is tried, and told")
	require.InDelta(t, 2, auto.Registration().Weight, 0, "the change is made")
	heal()
	require.NoError(t, auto.Update(t.Context(), weigh))
	require.Equal(t, 3, f.count("deregister 192.0.2.7:8080"))
	require.NoError(t, auto.Stop(t.Context()))
	require.Equal(t, 3, f.count("deregister 192.0.2.7:8080"), "once it is gone it is forgotten")
}

func TestCase23_WhoMovesBackIsNotTakenOut(t *testing.T) {
	auto, f, heal := moved(t)
	heal()
	require.NoError(t, auto.Update(t.Context(), toPort(8080)))
	require.Equal(t, 1, f.count("deregister 192.0.2.7:8080"))
	require.NoError(t, auto.Renew(t.Context()))
	require.Equal(t, 8080, f.only(t).Port)
	require.NoError(t, auto.Stop(t.Context()))
	require.Equal(t, 1, f.count("deregister 192.0.2.7:9000"))
	require.Equal(t, 2, f.count("deregister 192.0.2.7:8080"))
	f.empty(t)
}
