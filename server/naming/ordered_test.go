package naming

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestOrdered_IsAMapThatKeepsItsOldVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			real  *ordered[int, int]
			model map[int]int
		}
		current := version{newOrdered[int, int](cmp.Compare[int]), map[int]int{}}
		versions := []version{current}
		keys := rapid.IntRange(0, 600)
		for range rapid.IntRange(1, 12).Draw(t, "edits") {
			e := current.real.edit()
			model := maps.Clone(current.model)
			for range rapid.IntRange(0, 200).Draw(t, "changes") {
				key := keys.Draw(t, "key")
				if rapid.IntRange(0, 2).Draw(t, "what") == 0 {
					e.remove(key)
					delete(model, key)
				} else {
					value := rapid.Int().Draw(t, "value")
					e.put(key, value)
					model[key] = value
				}
			}
			current = version{e.done(), model}
			versions = append(versions, current)
		}
		for _, v := range versions {
			if v.real.size != len(v.model) {
				t.Fatalf("size %d, want %d", v.real.size, len(v.model))
			}
			sorted := slices.Sorted(maps.Keys(v.model))
			var got []int
			for key := range v.real.from(-1) {
				got = append(got, key)
			}
			if !slices.Equal(got, sorted) {
				t.Fatalf("keys %v, want %v", got, sorted)
			}
			start := keys.Draw(t, "start")
			first, _ := slices.BinarySearch(sorted, start)
			for key := range v.real.from(start) {
				if key != sorted[first] {
					t.Fatalf("walk from %d begins at %d, want %d", start, key, sorted[first])
				}
				break
			}
			for key := range 600 {
				value, ok := v.real.get(key)
				if want, there := v.model[key]; ok != there || value != want {
					t.Fatalf("get %d: %d %v, want %d %v", key, value, ok, want, there)
				}
			}
			for _, b := range v.real.blocks {
				if n := len(b.pairs); n == 0 || n > blockSize {
					t.Fatalf("a block has %d pairs", n)
				}
			}
		}
	})
}

func TestOrdered_OneChangeCopiesOneBlock(t *testing.T) {
	e := newOrdered[int, int](cmp.Compare[int]).edit()
	for i := range 100_000 {
		e.put(i, i)
	}
	before := e.done()
	changed := before.edit()
	changed.put(50_000, -1)
	after := changed.done()

	require.Len(t, after.blocks, len(before.blocks))
	copied := 0
	for i := range after.blocks {
		if after.blocks[i] != before.blocks[i] {
			copied++
		}
	}
	require.Equal(t, 1, copied)
}

func TestOrdered_RemovingLeavesNoCrumbs(t *testing.T) {
	e := newOrdered[int, int](cmp.Compare[int]).edit()
	for i := range 10_000 {
		e.put(i, i)
	}
	for i := range 10_000 {
		if i%100 != 0 {
			e.remove(i)
		}
	}
	require.Equal(t, 100, e.size)
	require.LessOrEqual(t, len(e.blocks), 2*100/(blockSize/2)+1)
}

func BenchmarkOrdered_OneChangeAmong100000(b *testing.B) {
	e := newOrdered[int, int](cmp.Compare[int]).edit()
	for i := range 100_000 {
		e.put(i, i)
	}
	o := e.done()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e := o.edit()
		e.put(i%100_000, i)
		o = e.done()
	}
}
