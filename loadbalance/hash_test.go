package loadbalance_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func hashed(t require.TestingT, key string) loadbalance.Policy {
	k, err := loadbalance.ParseHashKey(key)
	require.NoError(t, err)
	return loadbalance.ConsistentHash(k, seeded())
}

// placed returns which port each of many keys leads to.
func placed(t require.TestingT, list []*registry.Instance, keys int) map[int]int {
	p := hashed(t, "header:User").Build(list)
	at := map[int]int{}
	for key := range keys {
		r, err := p.Pick(&loadbalance.Request{Header: http.Header{"User": {fmt.Sprint("user-", key)}}})
		require.NoError(t, err)
		at[key] = r.Instance.Port
	}
	return at
}

func TestDR2_ConsistentHashMovesOnlyWhatItMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(0.1, 10), 2, 20).Draw(t, "weights")
		if rapid.Bool().Draw(t, "equal") {
			for n := range weights {
				weights[n] = 1
			}
		}
		list := weighted(weights...)
		gone := rapid.IntRange(0, len(list)-1).Draw(t, "gone")
		left := append(append([]*registry.Instance{}, list[:gone]...), list[gone+1:]...)
		before, after := placed(t, list, 300), placed(t, left, 300)
		for key, port := range before {
			if port != gone+1 && after[key] != port {
				t.Fatalf("key %d moved from %d to %d when %d left", key, port, after[key], gone+1)
			}
		}
	})
}

func TestDR2_ConsistentHashGoesByWeight(t *testing.T) {
	for _, weights := range [][]float64{{1, 1, 1, 1}, {1, 2, 7}, {0, 3, 1}} {
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		counts := map[int]int{}
		for _, port := range placed(t, weighted(weights...), 20000) {
			counts[port]++
		}
		for n, w := range weights {
			require.InDelta(t, 100*w/sum, float64(counts[n+1])/200, 5, "%v", counts)
		}
	}
}

func TestDR2_HashKeys(t *testing.T) {
	u, err := url.Parse("http://orders/?user=a%20b")
	require.NoError(t, err)
	client := loadbalance.WithClientAddr(t.Context(), netip.MustParseAddr("192.0.2.77"))
	for key, r := range map[string]loadbalance.Request{
		"header:x-user": {Header: http.Header{"X-User": {"7"}}},
		"cookie:user":   {Header: http.Header{"Cookie": {"a=b; user=7"}}},
		"query:user":    {URL: u},
		"ip":            {Context: client},
	} {
		t.Run(key, func(t *testing.T) {
			p := hashed(t, key).Build(weighted(1, 1, 1, 1, 1))
			require.Len(t, shares(t, p, &r), 1, "one key, one instance")
			require.Len(t, shares(t, p, &loadbalance.Request{Context: context.Background()}), 5, "without the key, everybody")
			first, err := p.Pick(&r)
			require.NoError(t, err)
			r.Tried = []*registry.Instance{first.Instance}
			second := shares(t, p, &r)
			require.Len(t, second, 1, "the second best is always the same, too")
			require.NotContains(t, second, first.Instance.Port)
			r.Tried = weighted(1, 1, 1, 1, 1)
			require.Equal(t, map[int]float64{first.Instance.Port: 100}, rounded(shares(t, p, &r)))
		})
	}
	p := hashed(t, "ip").Build(weighted(1, 1, 1, 1, 1))
	a := &loadbalance.Request{Context: t.Context(), Header: http.Header{"X-Forwarded-For": {"192.0.2.77, 192.0.2.1"}}}
	require.Equal(t, rounded(shares(t, p, a)), rounded(shares(t, p, &loadbalance.Request{Context: client})))
	for _, bad := range []string{"", "header", "header:", "ip:x", "body:x"} {
		_, err := loadbalance.ParseHashKey(bad)
		require.Error(t, err, bad)
	}
}

func rounded(shares map[int]float64) map[int]float64 {
	for port, share := range shares {
		shares[port] = float64(int(share + 0.5))
	}
	return shares
}

func TestDR2_WeightedRoundRobinSpreads(t *testing.T) {
	p := loadbalance.WeightedRoundRobin(func() float64 { return 0 }).Build(weighted(5, 1, 1))
	order := ""
	for range 7 {
		r, err := p.Pick(&loadbalance.Request{})
		require.NoError(t, err)
		order += fmt.Sprint(r.Instance.Port)
	}
	require.NotContains(t, order+order, "1111", "in blocks: %s", order)
}

func TestDR2_LeastActiveTakesTheIdlest(t *testing.T) {
	o := with(func(p *loadbalance.Properties) { p.Algorithm = "least-active" })
	l := having(t, o, inst(1), inst(2), inst(3, func(i *registry.Instance) { i.Weight = 2 }))
	open := map[string][]loadbalance.Result{}
	for range 40 {
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		open[r.Instance.IP] = append(open[r.Instance.IP], r)
	}
	require.Len(t, open["192.0.2.1"], 10)
	require.Len(t, open["192.0.2.3"], 20)
	for _, r := range open["192.0.2.2"][:5] {
		r.Done(loadbalance.Outcome{})
	}
	for range 5 {
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		require.Equal(t, "192.0.2.2", r.Instance.IP)
	}
}

func TestDR2_P2CAvoidsSlowBusyAndFailing(t *testing.T) {
	for name, slow := range map[string]loadbalance.Outcome{
		"slow":    {Latency: 200_000_000, StatusCode: 200},
		"refuses": {Latency: 1000, Err: errRefused},
	} {
		t.Run(name, func(t *testing.T) {
			o := with(func(p *loadbalance.Properties) { p.Algorithm = "p2c" })
			o.Rand = seeded()
			l := having(t, o, inst(1), inst(2), inst(3))
			n := 0
			for range 5000 {
				r, err := l.Choose(t.Context(), orders)
				require.NoError(t, err)
				if r.Instance.IP == "192.0.2.1" {
					n++
					r.Done(slow)
				} else {
					r.Done(loadbalance.Outcome{Latency: 1_000_000, StatusCode: 200})
				}
			}
			require.Less(t, n, 250, "avoided")
			require.Positive(t, n, "but measured again now and then")
		})
	}
	o := with(func(p *loadbalance.Properties) { p.Algorithm = "p2c" })
	o.Rand = seeded()
	l := having(t, o, inst(1), inst(2))
	var busy []loadbalance.Result
	counts := map[string]int{}
	for range 200 {
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		counts[r.Instance.IP]++
		if r.Instance.IP == "192.0.2.1" {
			busy = append(busy, r)
		} else {
			r.Done(loadbalance.Outcome{})
		}
	}
	require.Less(t, len(busy), 20)
}

// One address in two clusters is two instances, and each has its share.
func TestDR2_ConsistentHashTellsClustersApart(t *testing.T) {
	list := weighted(1, 1)
	list[0].Cluster, list[1].Cluster, list[1].Port = "BLUE", "GREEN", list[0].Port
	p := hashed(t, "header:User").Build(list)
	counts := map[string]int{}
	for n := range 2000 {
		r, err := p.Pick(&loadbalance.Request{Header: http.Header{"User": {fmt.Sprint("user-", n)}}})
		require.NoError(t, err)
		counts[r.Instance.Cluster]++
	}
	require.InDelta(t, 1000, counts["BLUE"], 100)
}

// What a busy instance would have had goes to all others alike.
func TestDR2_P2CSpreadsWhatItPassesOver(t *testing.T) {
	for busy := 1; busy <= 4; busy++ {
		o := with(func(p *loadbalance.Properties) { p.Algorithm = "p2c" })
		o.Rand = seeded()
		l := having(t, o, inst(1), inst(2), inst(3), inst(4))
		address := "192.0.2." + string(rune('0'+busy))
		for open := 0; open < 50; {
			r, err := l.Choose(t.Context(), orders)
			require.NoError(t, err)
			if r.Instance.IP == address {
				open++ // and stays under way
			} else {
				r.Done(loadbalance.Outcome{StatusCode: 200})
			}
		}
		counts := map[string]int{}
		for range 20000 {
			r, err := l.Choose(t.Context(), orders)
			require.NoError(t, err)
			counts[r.Instance.IP]++
			r.Done(loadbalance.Outcome{StatusCode: 200})
		}
		for n := 1; n <= 4; n++ {
			ip, want := "192.0.2."+string(rune('0'+n)), 33.0
			if n == busy {
				want = 0
			}
			require.InDelta(t, want, float64(counts[ip])/200, 5, "%v", counts)
		}
	}
}

// A newcomer takes its share from everybody, and nobody gives to anybody else.
func TestDR2_ConsistentHashSharesAmongMany(t *testing.T) {
	list := weighted(make([]float64, 101)...)
	for n, i := range list {
		i.Weight = float64(1 + n%2)
	}
	const keys = 20_000
	before, after := placed(t, list[:100], keys), placed(t, list, keys)
	counts, moved := map[int]float64{}, 0.0
	for key, port := range before {
		counts[port]++
		if after[key] != port {
			require.Equal(t, 101, after[key], "key %d moved from %d", key, port)
			moved++
		}
	}
	for n, i := range list[:100] {
		require.InDelta(t, i.Weight/150*keys, counts[n+1], 0.4*i.Weight/150*keys)
	}
	require.InDelta(t, keys/151.0, moved, 0.4*keys/151)
}

// Whoever asks first works a slot out, and everybody is told the same.
func TestDR2_ConsistentHashIsTheSameForAll(t *testing.T) {
	list := weighted(make([]float64, 20)...)
	for _, i := range list {
		i.Weight = 1
	}
	p := hashed(t, "header:User").Build(list)
	want := placed(t, list, 2000)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for key := range 2000 {
				r, err := p.Pick(&loadbalance.Request{Header: http.Header{"User": {fmt.Sprint("user-", key)}}})
				if err != nil || r.Instance.Port != want[key] {
					t.Errorf("key %d leads to %v", key, r.Instance)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkConsistentHash picks for 10,000 users in turn, and for a list that has
// just changed. Its budget is 100 ns and no allocation once the users were there.
func BenchmarkConsistentHash(b *testing.B) {
	requests := make([]*loadbalance.Request, 10_000)
	for n := range requests {
		requests[n] = &loadbalance.Request{Header: http.Header{"User": {fmt.Sprint("user-", n)}}}
	}
	for _, n := range []int{3, 100, 10_000} {
		list := weighted(make([]float64, n)...)
		for _, i := range list {
			i.Weight = 1
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			picker := hashed(b, "header:User").Build(list)
			for _, r := range requests {
				_, _ = picker.Pick(r)
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if _, err := picker.Pick(requests[n%len(requests)]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint(n, " changed"), func(b *testing.B) {
			p := hashed(b, "header:User")
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				picker := p.Build(list)
				if _, err := picker.Pick(requests[n%len(requests)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
