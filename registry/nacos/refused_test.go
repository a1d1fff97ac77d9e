package nacos_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

// What a server refuses for good is wrong with the registration, and not worth
// another attempt; everything else may be better later.
func TestAR6_WhatTheServerRefusesIsTheRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		for status, final := range map[int]bool{400: true, 501: true, 403: false, 404: false, 429: false, 500: false, 503: false} {
			c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: status, Body: "why"}))
			err := r.Register(t.Context(), registration())
			require.ErrorContains(t, err, "why", status)
			require.Equal(t, final, errors.Is(err, registry.ErrInvalidRegistration), "%d", status)
			require.Empty(t, r.Beats())
		}
	})
}
