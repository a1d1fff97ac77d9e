package loadbalance_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var orders = registry.ServiceID{Name: "orders"}.Normalize()

// weighted returns instances with these weights, at ports counted from 1.
func weighted(weights ...float64) []*registry.Instance {
	var list []*registry.Instance
	for n, w := range weights {
		i := registry.NewInstance(orders, "192.0.2.1", n+1)
		i.Weight = w
		list = append(list, &i)
	}
	return list
}

// seeded is the same sequence in every run. It is for one goroutine.
func seeded() loadbalance.Rand { return rand.New(rand.NewPCG(1, 2)).Float64 }

func policies(r loadbalance.Rand) []loadbalance.Policy {
	return []loadbalance.Policy{
		loadbalance.WeightedRandom(r), loadbalance.RoundRobin(r), loadbalance.Random(r),
		loadbalance.WeightedRoundRobin(r), loadbalance.LeastActive(r), loadbalance.P2C(r),
	}
}

// shares picks 20,000 times and returns percentages by port.
func shares(t testing.TB, p loadbalance.Picker, r *loadbalance.Request) map[int]float64 {
	const picks = 20000
	shares := map[int]float64{}
	for range picks {
		got, err := p.Pick(r)
		require.NoError(t, err)
		shares[got.Instance.Port] += 100.0 / picks
	}
	return shares
}

func TestDR2_PoliciesByName(t *testing.T) {
	for _, p := range policies(nil) {
		got, err := loadbalance.PolicyByName(p.Name(), nil)
		require.NoError(t, err)
		require.Equal(t, p.Name(), got.Name())
	}
	def, err := loadbalance.PolicyByName("", nil)
	require.NoError(t, err)
	require.Equal(t, loadbalance.PolicyWeightedRandom, def.Name())
	_, err = loadbalance.PolicyByName("fastest", nil)
	require.ErrorContains(t, err, `"fastest", there are weighted-random, round-robin, random, weighted-round-robin, least-active, p2c and consistent-hash`)
	_, err = loadbalance.PolicyByName(loadbalance.PolicyConsistentHash, nil)
	require.ErrorContains(t, err, "needs a hash key")
}

func TestDR2_SharesOfTraffic(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  loadbalance.Policy
		weights []float64
		want    map[int]float64
	}{
		{"weighted", loadbalance.WeightedRandom(seeded()), []float64{1, 2, 7}, map[int]float64{1: 10, 2: 20, 3: 70}},
		{"weighted, small fractions", loadbalance.WeightedRandom(seeded()), []float64{0.001, 0.003}, map[int]float64{1: 25, 2: 75}},
		{"weighted, zero and below get nothing", loadbalance.WeightedRandom(seeded()), []float64{0, 1, -3, 1, math.Inf(-1)}, map[int]float64{2: 50, 4: 50}},
		{"weighted, infinite is 10000", loadbalance.WeightedRandom(seeded()), []float64{math.Inf(1), 10000}, map[int]float64{1: 50, 2: 50}},
		{"weighted, not a number is 1", loadbalance.WeightedRandom(seeded()), []float64{math.NaN(), 1}, map[int]float64{1: 50, 2: 50}},
		{"weighted, one", loadbalance.WeightedRandom(seeded()), []float64{5}, map[int]float64{1: 100}},
		{"random", loadbalance.Random(seeded()), []float64{1, 2, 7, 0}, map[int]float64{1: 25, 2: 25, 3: 25, 4: 25}},
		{"round robin", loadbalance.RoundRobin(seeded()), []float64{1, 2, 7, 0}, map[int]float64{1: 25, 2: 25, 3: 25, 4: 25}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := shares(t, c.policy.Build(weighted(c.weights...)), &loadbalance.Request{})
			require.Len(t, got, len(c.want), "%v", got)
			for port, want := range c.want {
				require.InDelta(t, want, got[port], 5, "port %d of %v", port, got)
			}
		})
	}
}

// Whatever the weights, each instance has its share, within five points over 20,000
// picks of one sequence.
func TestDR2_WeightedSharesWhateverTheWeights(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0.001, 10000)), 1, 12).Draw(t, "weights")
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		if sum == 0 {
			t.Skip("nobody to choose")
		}
		for _, p := range []loadbalance.Policy{loadbalance.WeightedRandom(seeded()), loadbalance.WeightedRoundRobin(seeded())} {
			got := shares(outer, p.Build(weighted(weights...)), &loadbalance.Request{})
			for n, w := range weights {
				if want := 100 * w / sum; math.Abs(got[n+1]-want) > 5 || w == 0 && got[n+1] > 0 {
					t.Fatalf("%s: weight %v of %v has %v %%, not %v", p.Name(), w, weights, got[n+1], want)
				}
			}
		}
	})
}

func TestCR3_NothingToChooseFrom(t *testing.T) {
	for _, p := range policies(nil) {
		_, err := p.Build(nil).Pick(&loadbalance.Request{})
		require.ErrorIs(t, err, loadbalance.ErrNoInstance, p.Name())
	}
	_, err := loadbalance.WeightedRandom(nil).Build(weighted(0, 0, -1)).Pick(&loadbalance.Request{})
	require.ErrorIs(t, err, loadbalance.ErrNoInstance)
}

func TestCR3_PointOnTheEndOfTheLine(t *testing.T) {
	for _, r := range []float64{0, math.Nextafter(1, 0), 1} {
		for _, p := range policies(func() float64 { return r }) {
			got, err := p.Build(weighted(0.1, 0.2, 0.3)).Pick(&loadbalance.Request{})
			require.NoError(t, err)
			require.NotNil(t, got.Instance)
		}
	}
}

func TestRoundRobin_TakesTurnsFromARandomStart(t *testing.T) {
	first := map[int]bool{}
	r := seeded()
	for range 50 {
		p := loadbalance.RoundRobin(r).Build(weighted(1, 1, 1))
		previous := 0
		for n := range 9 {
			got, err := p.Pick(&loadbalance.Request{})
			require.NoError(t, err)
			if n == 0 {
				first[got.Instance.Port] = true
			} else {
				require.Equal(t, previous%3+1, got.Instance.Port)
			}
			previous = got.Instance.Port
		}
	}
	require.Len(t, first, 3)
}

// An attempt never goes where the call has been, while there is somewhere else;
// and what is left is chosen by the policy's own rule.
func TestPolicies_AvoidWhatWasTried(t *testing.T) {
	for _, p := range policies(seeded()) {
		t.Run(p.Name(), func(t *testing.T) {
			list := weighted(1, 1, 1, 3)
			picker := p.Build(list)
			refreshed := *list[1] // from another revision
			got := shares(t, picker, &loadbalance.Request{Tried: []*registry.Instance{list[0], &refreshed}})
			require.Len(t, got, 2)
			if p.Name() == loadbalance.PolicyWeightedRandom {
				require.InDelta(t, 75, got[4], 5)
			}
			got = shares(t, picker, &loadbalance.Request{Tried: list})
			require.Len(t, got, 4, "all were tried: any will do")
		})
	}
}

func TestPolicies_Property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOf(rapid.Float64()).Draw(t, "weights")
		list := weighted(weights...)
		tried := list[:rapid.IntRange(0, len(list)).Draw(t, "tried")]
		at := rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "rand")
		positive := 0
		for _, w := range weights {
			if w > 0 {
				positive++
			}
		}
		for _, p := range policies(func() float64 { return at }) {
			got, err := p.Build(list).Pick(&loadbalance.Request{Tried: tried})
			byWeight := p.Name() != loadbalance.PolicyRoundRobin && p.Name() != loadbalance.PolicyRandom
			if len(list) == 0 || byWeight && positive == 0 {
				if !errors.Is(err, loadbalance.ErrNoInstance) {
					t.Fatalf("%s: got %v", p.Name(), err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", p.Name(), err)
			}
			if byWeight && !(got.Instance.Weight > 0) {
				t.Fatalf("picked weight %v", got.Instance.Weight)
			}
			if len(tried) < len(list) && !byWeight && got.Instance.Port <= len(tried) {
				t.Fatalf("%s: picked a tried one", p.Name())
			}
		}
	})
}

func TestPolicies_ConcurrentUse(t *testing.T) {
	for _, p := range policies(nil) {
		picker := p.Build(weighted(1, 2, 3))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 1000 {
					if _, err := picker.Pick(&loadbalance.Request{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestDR14_PickAllocatesNothing(t *testing.T) {
	list := weighted(make([]float64, 100)...)
	for _, i := range list {
		i.Weight = 1.5
	}
	for _, p := range policies(nil) {
		if p.Name() == loadbalance.PolicyLeastActive || p.Name() == loadbalance.PolicyP2C {
			continue // these count by themselves outside of a balancer
		}
		picker := p.Build(list)
		for name, r := range map[string]*loadbalance.Request{"first attempt": {}, "second attempt": {Tried: list[:1]}} {
			require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = picker.Pick(r) }), "%s, %s", p.Name(), name)
		}
	}
}

func BenchmarkPick(b *testing.B) {
	for _, n := range []int{3, 100, 10000} {
		list := weighted(make([]float64, n)...)
		for _, i := range list {
			i.Weight = 1.5
		}
		for _, p := range policies(nil) {
			b.Run(fmt.Sprintf("%s/%d", p.Name(), n), func(b *testing.B) {
				picker := p.Build(list)
				r := &loadbalance.Request{}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := picker.Pick(r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
