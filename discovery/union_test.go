package discovery_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

func united(t *testing.T) (first, second *fakeSource, c *discovery.Client) {
	t.Helper()
	first, second = newFake(), newFake()
	first.name, second.name = "first", "second"
	c = newClient(t, discovery.Options{Sources: []discovery.Source{first, second}, Merge: discovery.MergeUnion})
	return first, second, c
}

func heavy(weight float64) func(*registry.Instance) {
	return func(i *registry.Instance) { i.Weight = weight }
}

func TestUnion_PutsTheAnswersTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, c := united(t)
		first.set(inst(3), inst(1, heavy(7)))
		second.set(inst(2), inst(1, heavy(9)))
		got := snapshot(t, c)
		require.Equal(t, []string{inst(1).IP, inst(2).IP, inst(3).IP}, addresses(got))
		require.EqualValues(t, 7, got.Instances[0].Weight, "the first source's version counts")
		require.Equal(t, "first+second", got.Origin)
		second.set()
		after(10 * time.Second)
		got = snapshot(t, c)
		require.Equal(t, []string{inst(1).IP, inst(3).IP}, addresses(got))
		require.Equal(t, "first", got.Origin)
		first.set()
		after(10 * time.Second)
		require.Empty(t, snapshot(t, c).Instances)
		require.False(t, snapshot(t, c).Stale())
	})
}

func TestUnion_AFailingSourceKeepsItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, c := united(t)
		first.fail(errDown)
		_, err := c.Snapshot(t.Context(), orders)
		require.ErrorIs(t, err, errDown, "nothing is left, and that is no empty service")

		second.set(inst(2))
		got := snapshot(t, c)
		require.Equal(t, []string{inst(2).IP}, addresses(got))
		require.ErrorIs(t, got.Err, errDown, "it may be incomplete, and says so")

		first.set(inst(1))
		after(10 * time.Second)
		require.False(t, snapshot(t, c).Stale())
		first.fail(errDown)
		second.set(inst(2), inst(3))
		after(10 * time.Second)
		got = snapshot(t, c)
		require.Equal(t, []string{inst(1).IP, inst(2).IP, inst(3).IP}, addresses(got), "the other one is followed")
		require.True(t, got.Stale())
		since := got.StaleSince
		second.set()
		after(10 * time.Second)
		got = snapshot(t, c)
		require.Equal(t, []string{inst(1).IP}, addresses(got))
		require.Equal(t, since, got.StaleSince)
	})
}

func TestUnion_APushHasAllAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, c := united(t)
		first.set(inst(1))
		second.set(inst(2))
		e, _ := subscribe(t, c)
		first.set(inst(1), inst(3))
		first.push(orders, inst(1), inst(3))
		synctest.Wait()
		require.Equal(t, []uint64{1, 2}, e.revisions())
		require.Equal(t, []string{inst(1).IP, inst(2).IP, inst(3).IP}, addresses(snapshot(t, c)))
	})
}

// Whatever the sources hold, the union is what a set would be, and the first
// non-empty list is one source's.
func TestMerge_Properties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lists := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.ByteRange(0, 9), 0, 6, rapid.ID[byte]), 1, 4).Draw(rt, "lists")
		for _, merge := range []discovery.Merge{discovery.MergeUnion, discovery.MergeFirstNonEmpty} {
			var sources []discovery.Source
			want := map[byte]float64{}
			for n, list := range lists {
				s := newFake()
				var instances []registry.Instance
				take := merge == discovery.MergeUnion || len(want) == 0
				for _, i := range list {
					instances = append(instances, inst(i, heavy(float64(n))))
				}
				for _, i := range list {
					if _, ok := want[i]; !ok && take {
						want[i] = float64(n)
					}
				}
				s.set(instances...)
				sources = append(sources, s)
			}
			c, err := discovery.New(discovery.Options{Sources: sources, Merge: merge})
			require.NoError(rt, err)
			got, err := c.Snapshot(context.Background(), orders)
			require.NoError(rt, err)
			require.NoError(rt, c.Close())
			require.Len(rt, got.Instances, len(want))
			require.True(rt, slices.IsSortedFunc(got.Instances, func(a, b registry.Instance) int { return cmp.Compare(a.IP, b.IP) }))
			for _, i := range got.Instances {
				require.Equal(rt, want[i.IP[len(i.IP)-1]-'0'], i.Weight)
			}
		}
	})
}

func TestOptions_OfTheExtras(t *testing.T) {
	s := newFake()
	err := discovery.Options{
		Sources: slices.Repeat([]discovery.Source{s}, 65), Merge: "sum", MaxUnknown: -1,
		FailureTolerance: discovery.FailureTolerance{MaxAge: -1}, EmptyProtection: discovery.EmptyProtection{TTL: -1},
		Disk: discovery.Disk{Failover: true, MaxAge: -1}, Heartbeat: discovery.Heartbeat{Enabled: true, Delay: -1},
	}.Validate()
	for _, part := range []string{
		"65", `"sum"`, "max unknown", "failure tolerance max age", "empty protection TTL", "snapshot max age",
		"no folder", "heartbeat delay", "no publisher",
	} {
		require.ErrorContains(t, err, part)
	}
}
