package discovery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// A reader says what Snapshot says, whatever becomes of the service meanwhile.
func TestReader_IsSnapshotWithoutTheLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(inst(1))
		c := newClient(t, discovery.Options{
			Sources: []discovery.Source{s}, FailureTolerance: discovery.FailureTolerance{MaxAge: 10 * time.Minute},
		})
		r := c.Reader(registry.ServiceID{Name: "orders"})
		read := func() *discovery.Snapshot {
			got, err := r.Snapshot(t.Context())
			require.NoError(t, err)
			require.Same(t, snapshot(t, c), got)
			return got
		}
		s.fail(errDown)
		_, err := r.Snapshot(t.Context())
		require.ErrorIs(t, err, errDown, "an error is not kept")
		s.set(inst(1))
		require.Equal(t, []string{inst(1).IP}, addresses(read()))
		s.push(orders, inst(2))
		require.Equal(t, []string{inst(2).IP}, addresses(read()))

		for range 12 { // used, it keeps the service fresh
			after(time.Minute)
			read()
		}
		s.set(inst(3))
		after(time.Hour)
		require.Empty(t, c.State().Services, "a reader that is not used does not")
		got, err := r.Snapshot(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{inst(3).IP}, addresses(got), "what was forgotten is asked for again")

		s.fail(errDown)
		after(5 * time.Minute)
		require.True(t, read().Stale())
		after(time.Hour)
		_, err = r.Snapshot(t.Context())
		require.ErrorIs(t, err, errDown, "a list too old is none")
		require.NoError(t, c.Close())
		_, err = r.Snapshot(t.Context())
		require.ErrorIs(t, err, discovery.ErrClosed)
	})
}
