package nacos

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCR1_NamesOfServersAreLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		answer, calls := []netip.Addr{first}, 0
		var failure error
		o := newOrigins(func() []string { return []string{"nacos", "198.51.100.1", "2001:db8::1"} }, func(context.Context, string, string) ([]netip.Addr, error) {
			calls++
			return answer, failure
		})
		allow := func(a netip.Addr) bool { return o.allow(t.Context(), a) }

		require.True(t, allow(netip.MustParseAddr("::ffff:198.51.100.1")), "IPv4 as a dual socket sees it")
		require.True(t, allow(netip.MustParseAddr("2001:db8::1")))
		require.Zero(t, calls, "literals need no look-up")

		require.True(t, allow(first))
		require.False(t, allow(second))
		require.True(t, allow(first))
		require.Equal(t, 1, calls, "a stranger causes no more look-ups")

		answer = []netip.Addr{second}
		require.False(t, allow(second))
		time.Sleep(31 * time.Second)
		require.True(t, allow(second), "the name moved")
		require.False(t, allow(first))

		failure = errors.New("no resolver")
		time.Sleep(31 * time.Second)
		require.False(t, allow(first))
		require.True(t, allow(second), "what is known outlives a failed look-up")
	})
}

func TestCR1_OriginsFollowTheServerList(t *testing.T) {
	hosts := []string{"192.0.2.1"}
	o := newOrigins(func() []string { return hosts }, nil)
	first, second := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	require.True(t, o.allow(t.Context(), first))
	require.False(t, o.allow(t.Context(), second))
	hosts = []string{"192.0.2.2"}
	require.False(t, o.allow(t.Context(), first))
	require.True(t, o.allow(t.Context(), second))
}
