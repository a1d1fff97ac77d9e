package probe

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestSet_KeepsWhoStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		c := cluster1("s")
		require.NoError(t, f.Set(c, Checker{}, 0, []Target{healthy(1), healthy(2)}))
		time.Sleep(2*time.Second + connectTimeout + time.Millisecond)
		for range 100 {
			require.NoError(t, f.Set(c, Checker{}, 0, []Target{healthy(1), healthy(3), healthy(3)}))
			time.Sleep(100 * time.Millisecond)
		}
		require.Equal(t, []bool{false}, f.results.healthy(1), "its count went on")
		require.Empty(t, f.results.healthy(2))
		require.Len(t, f.net.times(local(2)), 1, "who is gone is not asked")
		require.Equal(t, []bool{false}, f.results.healthy(3), "given twice is once")
		_, held, _ := f.held()
		require.Equal(t, 2, held)
	})
}

// A health that was decided elsewhere holds, and starts the count anew.
func TestSet_AdoptsHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		f.net.set(local(1), refusal)
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, []Target{healthy(1)}))
		time.Sleep(3 * time.Second)
		require.Equal(t, []bool{false}, f.results.healthy(1))
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, []Target{healthy(1)}))
		time.Sleep(6 * time.Second)
		require.Equal(t, []bool{false, false}, f.results.healthy(1))

		f.net.set(local(2), accept)
		require.NoError(t, f.Set(cluster1("t"), Checker{}, 0, []Target{healthy(2)}))
		time.Sleep(time.Minute + time.Second/2) // between two probes
		require.NoError(t, f.Set(cluster1("t"), Checker{}, 0, []Target{unhealthy(2)}))
		asked := len(f.net.times(local(2)))
		time.Sleep(time.Minute)
		require.Equal(t, []bool{true}, f.results.healthy(2))
		_, told := f.results.told()
		require.Len(t, before(f.net.times(local(2)), told), asked+3, "what it was before does not count")
	})
}

func TestSet_NewCheckerStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		c := cluster1("s")
		require.NoError(t, f.Set(c, Checker{}, 0, []Target{healthy(1)}))
		time.Sleep(10 * time.Second)
		require.NotEmpty(t, f.net.times(local(1)))

		dialed := len(f.net.times(local(1)))
		require.NoError(t, f.Set(c, Checker{}, 8080, []Target{healthy(1), healthy(2)}))
		f.net.set(local(8080), accept)
		time.Sleep(9 * time.Second) // between two probes
		require.Len(t, f.net.times(local(1)), dialed)
		require.NotEmpty(t, f.net.times(local(8080)), "the check port of the cluster")

		asked := len(f.net.times(local(8080)))
		require.NoError(t, f.Set(c, Checker{Type: None}, 0, []Target{healthy(1)}))
		time.Sleep(time.Minute)
		require.Len(t, f.net.times(local(8080)), asked)
		require.Len(t, f.net.times(local(1)), dialed, "NONE asks nobody")
		clusters, held, scheduled := f.held()
		require.Zero(t, clusters+held+scheduled)
	})
}

func TestSet_RefusesABadChecker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		c := cluster1("s")
		require.NoError(t, f.Set(c, Checker{}, 0, []Target{healthy(1)}))
		var bad wire.BadRequest
		require.ErrorAs(t, f.Set(c, Checker{Type: HTTP, Path: "/a b"}, 0, []Target{healthy(2)}), &bad)
		time.Sleep(10 * time.Second)
		require.NotEmpty(t, f.net.times(local(1)), "nothing has changed")
		require.Empty(t, f.net.times(local(2)))
	})
}

func TestRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, []Target{healthy(1)}))
		require.NoError(t, f.Set(cluster1("t"), Checker{}, 0, []Target{healthy(2)}))
		time.Sleep(2*time.Second + connectTimeout/2) // both are being asked
		f.Remove(cluster1("s"))
		f.Remove(cluster1("never there"))
		time.Sleep(time.Minute)
		require.Len(t, f.net.times(local(1)), 1)
		require.Empty(t, f.results.healthy(1))
		require.Equal(t, []bool{false}, f.results.healthy(2))

		require.NoError(t, f.Set(cluster1("t"), Checker{}, 0, nil))
		clusters, held, scheduled := f.held()
		require.Zero(t, clusters+held+scheduled)
	})
}

// What is found out about a target that has gone meanwhile is not told, and what
// only waits for a worker is not asked any more.
func TestRemove_WhileUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(o *Options) { o.Workers = 2 })
		var targets []Target
		for port := 1; port <= 50; port++ {
			targets = append(targets, healthy(port))
			f.net.set(local(port), func(ctx context.Context) (net.Conn, error) {
				time.Sleep(100 * time.Millisecond)
				return refusal(ctx)
			})
		}
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, targets))
		time.Sleep(2*time.Second + 50*time.Millisecond)
		f.Remove(cluster1("s"))
		time.Sleep(time.Minute)
		asked := 0
		for port := 1; port <= 50; port++ {
			asked += len(f.net.times(local(port)))
		}
		require.Equal(t, 2, asked)
		n, _ := f.results.told()
		require.Zero(t, n)
	})
}
