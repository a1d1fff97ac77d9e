package registry_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

// What a registry refuses for good is neither tried again nor taken back.
func TestAR6_ARefusalIsFinal(t *testing.T) {
	for _, failFast := range []bool{true, false} {
		t.Run(fmt.Sprintf("fail-fast=%t", failFast), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeRegistry()
				f.onRegister = func(context.Context, registry.Registration) error {
					return fmt.Errorf("status 400: %w", registry.ErrInvalidRegistration)
				}
				auto := newAuto(t, f, func(p *autoParams) { p.Options.FailFast = failFast })
				listening(t, auto, 8080)
				require.ErrorIs(t, auto.Start(t.Context()), registry.ErrInvalidRegistration)
				time.Sleep(time.Hour)
				require.NoError(t, auto.Stop(t.Context()))
				require.Equal(t, 1, f.count("register 192.0.2.7:8080"))
				require.Zero(t, f.count("deregister 192.0.2.7:8080"))
			})
		})
	}
}
