package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

func TestCase25_WhatIsShadowedAndByWhom(t *testing.T) {
	u := &updating{fakeRegistry: newFakeRegistry()}
	auto := started(t, u.fakeRegistry, u.over, func(p *autoParams) {
		p.Registration.Metadata = map[string]string{"zone": "a", "color": "blue", "gone": "yes"}
		p.Customizers = []registry.Customizer{{Customize: func(r *registry.Registration) error {
			r.Metadata["color"], r.Cluster = "green", "BLUE"
			return nil
		}}}
	})
	require.Equal(t, map[string]registry.Layer{"metadata.color": registry.LayerCode, "cluster": registry.LayerCode}, auto.Shadowed(),
		"a port that the configuration leaves open is shadowed by nobody")

	require.NoError(t, auto.Update(t.Context(), func(r *registry.Registration) {
		r.Weight, r.Metadata["color"] = 5, "red"
		delete(r.Metadata, "gone")
	}))
	require.NoError(t, auto.SetStatus(t.Context(), registry.StatusDown))
	require.Equal(t, map[string]registry.Layer{
		"metadata.color": registry.LayerRuntime, "metadata.gone": registry.LayerRuntime, "cluster": registry.LayerCode,
		"weight": registry.LayerRuntime, "enabled": registry.LayerRuntime,
	}, auto.Shadowed())

	next := auto.Registration()
	require.NoError(t, auto.Refresh(t.Context(), next, nil))
	require.Empty(t, auto.Shadowed(), "the configuration says the same now")
	require.NoError(t, auto.Stop(t.Context()))
}
