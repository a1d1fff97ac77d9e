package discovery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
)

// protected is a client over two sources, the second of which knows the service as
// well, with a protection of 35 seconds.
func protected(t *testing.T, merge discovery.Merge) (first, second *fakeSource, c *discovery.Client) {
	t.Helper()
	first, second = newFake(inst(1)), newFake(inst(2))
	first.name, second.name = "first", "second"
	return first, second, newClient(t, discovery.Options{
		Sources: []discovery.Source{first, second}, Merge: merge,
		EmptyProtection: discovery.EmptyProtection{Enabled: true, TTL: 35 * time.Second},
	})
}

// An empty answer that is not believed must not let another source's list in the
// place of the one that is kept.
func TestCR14_ProtectionHoldsBeforeALowerSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, c := protected(t, discovery.MergeFirstNonEmpty)
		require.Equal(t, []string{inst(1).IP}, addresses(snapshot(t, c)))
		told, _ := subscribe(t, c)
		first.set()
		after(25 * time.Second)
		got := snapshot(t, c)
		require.Equal(t, []string{inst(1).IP}, addresses(got))
		require.True(t, got.Protected())
		require.Zero(t, second.fetches())
		require.Len(t, told.all(), 1)

		after(25 * time.Second)
		got = snapshot(t, c)
		require.Equal(t, []string{inst(2).IP}, addresses(got), "the protection has ended")
		require.False(t, got.Stale())
		require.Len(t, told.all(), 2)
	})
}

func TestCR14_ProtectionHoldsForASourceOfAUnion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, c := protected(t, discovery.MergeUnion)
		both := []string{inst(1).IP, inst(2).IP}
		require.Equal(t, both, addresses(snapshot(t, c)))
		first.set()
		after(25 * time.Second)
		got := snapshot(t, c)
		require.Equal(t, both, addresses(got))
		require.True(t, got.Protected())

		first.set(inst(3))
		after(10 * time.Second)
		got = snapshot(t, c)
		require.Equal(t, []string{inst(2).IP, inst(3).IP}, addresses(got), "it has instances again")
		require.False(t, got.Stale())

		second.set()
		after(25 * time.Second)
		require.Equal(t, []string{inst(2).IP, inst(3).IP}, addresses(snapshot(t, c)))
		after(25 * time.Second)
		got = snapshot(t, c)
		require.Equal(t, []string{inst(3).IP}, addresses(got), "the protection has ended")
		require.False(t, got.Stale())
	})
}

// Nothing was there before, so there is nothing to hold.
func TestCR14_ProtectionDoesNotHoldBackALowerSourceAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _, c := protected(t, discovery.MergeFirstNonEmpty)
		first.set()
		got := snapshot(t, c)
		require.Equal(t, []string{inst(2).IP}, addresses(got))
		require.False(t, got.Stale())
	})
}
