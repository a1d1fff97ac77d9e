package naming

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMerged_WalksBothInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.MapOfN(rapid.IntRange(0, 400), rapid.Just("x"), 0, 300)
		build := func(name string) *ordered[int, string] {
			e := newOrdered[int, string](cmp.Compare).edit()
			for k := range keys.Draw(t, name) {
				e.put(k, name)
			}
			return e.done()
		}
		first, second := build("first"), build("second")
		from := rapid.IntRange(0, 400).Draw(t, "from")
		type pair struct {
			key  int
			name string
		}
		var want []pair
		for _, o := range []*ordered[int, string]{first, second} {
			for k, v := range maps.Collect(o.from(from)) {
				want = append(want, pair{k, v})
			}
		}
		slices.SortFunc(want, func(a, b pair) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.name, b.name)) })
		limit := rapid.IntRange(0, len(want)+1).Draw(t, "limit")
		var got []pair
		for k, v := range merged(first, second, from) {
			if len(got) == limit {
				break
			}
			got = append(got, pair{k, v})
		}
		if want = want[:min(limit, len(want))]; !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}
