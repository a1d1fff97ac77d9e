package naming

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestMerge_ASnapshotComesBackWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newStore(t, Options{Node: 1}), newStore(t, Options{Node: 2})
		k := serviceKey("moved")
		off := false
		for port := range 3 {
			require.NoError(t, a.Register(k, withMetadata(registration("192.0.2.1", port), "port", "x")))
		}
		require.NoError(t, a.Patch(k, at("192.0.2.1", 1), Patch{Enabled: &off, Metadata: map[string]string{"port": "y"}}))
		require.NoError(t, a.Patch(k, at("192.0.2.1", 2), Patch{Healthy: &off}))
		time.Sleep(10 * time.Second)

		require.NoError(t, b.Merge(k, slices.Collect(a.Records(k))...))
		q := Query{Grouped: true}
		require.Equal(t, string(lookup(t, a, k).Answer(q, 1, 1)), string(lookup(t, b, k).Answer(q, 1, 1)))
		require.WithinDuration(t, instance(t, a, k, at("192.0.2.1", 0)).LastBeat(),
			instance(t, b, k, at("192.0.2.1", 0)).LastBeat(), 2*leaseTick)

		number := lookup(t, b, k).Number()
		require.NoError(t, b.Merge(k, slices.Collect(a.Records(k))...))
		require.Equal(t, number, lookup(t, b, k).Number(), "once more is nothing new")

		unhealthy, _ := silence(b, k, at("192.0.2.1", 0), time.Minute)
		requireBetween(t, unhealthy, 4900*time.Millisecond, 6*time.Second, "the age came along")
	})
}

func TestMerge_LaterWritesWin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newStore(t, Options{Node: 1}), newStore(t, Options{Node: 2})
		k := serviceKey("wins")
		r := registration("192.0.2.1", 1)
		require.NoError(t, a.Register(k, r))
		time.Sleep(time.Millisecond)
		old := slices.Collect(a.Records(k))
		require.NoError(t, b.Merge(k, old...))
		r.Weight = 5
		require.NoError(t, b.Register(k, r))
		require.NoError(t, b.Merge(k, old...))
		require.Equal(t, 5.0, instance(t, b, k, r.InstanceKey).Weight)
		require.NoError(t, a.Merge(k, slices.Collect(b.Records(k))...))
		require.Equal(t, 5.0, instance(t, a, k, r.InstanceKey).Weight)

		require.NoError(t, b.Deregister(k, r.InstanceKey))
		require.NoError(t, b.Merge(k, old...))
		require.Empty(t, ports(b, k), "an older write does not undo a deregistration")
		time.Sleep(time.Millisecond)
		r.Weight = 6
		require.NoError(t, a.Register(k, r))
		require.NoError(t, b.Merge(k, slices.Collect(a.Records(k))...))
		require.Equal(t, []int{1}, ports(b, k), "a later one does")
	})
}

func TestMerge_OfADeregistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("gone")
		r := registration("192.0.2.1", 1)
		require.NoError(t, s.Register(k, r))
		gone := Record{InstanceKey: r.InstanceKey, Registered: Registered{
			Version: Version{Clock: s.clock.next(Version{}).Clock + 1, Node: 2}, Gone: true,
		}}
		require.NoError(t, s.Merge(k, gone))
		require.Empty(t, ports(s, k))
		result, err := s.Beat(k, r.InstanceKey, &wire.Beat{Weight: 1})
		require.NoError(t, err)
		require.False(t, result.Known)

		unheard := serviceKey("unheard")
		require.NoError(t, s.Merge(unheard, gone))
		_, ok := s.Lookup(unheard)
		require.False(t, ok, "a tombstone makes no service")
		time.Sleep(2 * time.Minute)
		_, ok = s.entry(unheard)
		require.False(t, ok, "and is forgotten")
	})
}

func TestMerge_SkipsAndReportsWhatIsNotValid(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("partly")
	heavy := 1e9
	good := Registered{Version: Version{Clock: 1}, Weight: 1, Enabled: true}
	err := s.Merge(k,
		Record{InstanceKey: at("300.1.1.1", 1), Registered: good},
		Record{InstanceKey: at("192.0.2.1", -1), Registered: good},
		Record{InstanceKey: at("192.0.2.1", 1), Registered: Registered{Version: Version{Clock: 1}, Weight: -1}},
		Record{InstanceKey: at("192.0.2.1", 2), Registered: good, Override: Override{Weight: &heavy}},
		Record{InstanceKey: at("192.0.2.1", 4)},
		Record{InstanceKey: at("192.0.2.1", 3), Registered: good},
	)
	requireBadRequest(t, err, "is incorrect")
	require.Equal(t, []int{3}, ports(s, k))
}

// TestMerge_NodesAgreeWhateverTheOrder lets three nodes change things, then
// delivers everything everywhere, in different orders and more than once.
func TestMerge_NodesAgreeWhateverTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := serviceKey("agreed")
		var nodes []*Store
		for n := range 3 {
			s := New(Options{Node: uint16(n + 1)})
			defer s.Close()
			nodes = append(nodes, s)
		}
		var sent []Record
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			s := nodes[rapid.IntRange(0, 2).Draw(t, "node")]
			key := at("192.0.2.1", rapid.IntRange(1, 2).Draw(t, "port"))
			weight := float64(rapid.IntRange(1, 5).Draw(t, "weight"))
			var err error
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				err = s.Register(k, Registration{InstanceKey: key, Weight: weight, Enabled: true, Healthy: true})
			case 1:
				if r, ok := s.Lookup(k); ok {
					if _, ok := r.Get(key); ok {
						err = s.Patch(k, key, Patch{Weight: &weight})
					}
				}
			case 2:
				err = s.Deregister(k, key)
			case 3:
				if len(sent) > 0 {
					err = s.Merge(k, sent[rapid.IntRange(0, len(sent)-1).Draw(t, "message")])
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, everything(s, k)...)
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var want string
		for n, s := range nodes {
			for range 2 {
				random.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
				if err := s.Merge(k, sent...); err != nil {
					t.Fatal(err)
				}
			}
			var got string // a node may or may not remember an empty service
			if r, ok := s.Lookup(k); ok && r.Len() > 0 {
				got = string(r.Answer(Query{}, 1, 1))
			}
			if n == 0 {
				want = got
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("node %d: %s", n, diff)
			}
		}
	})
}

// everything is all records of a service, tombstones too.
func everything(s *Store, k wire.ServiceKey) []Record {
	all := slices.Collect(s.Records(k))
	e, ok := s.entry(k)
	if !ok {
		return all
	}
	_ = e.do(func(*draft) error {
		for key, grave := range e.gone {
			all = append(all, Record{InstanceKey: key, Registered: grave.record.reg, Override: grave.record.ovr})
		}
		return nil
	})
	return all
}
