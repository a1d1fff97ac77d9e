package registry

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func anyRegistration() *rapid.Generator[Registration] {
	return rapid.Custom(func(t *rapid.T) Registration {
		word := func(name string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name) }
		r := Registration{Instance: NewInstance(ServiceID{Name: word("name", "a", "b"), Group: word("group", "", "g")},
			word("ip", "192.0.2.1", "192.0.2.2"), rapid.IntRange(1, 3).Draw(t, "port"))}
		r.Cluster = word("cluster", "", "BLUE")
		r.Weight = rapid.Float64Range(0, 3).Draw(t, "weight")
		r.Enabled, r.Healthy, r.Ephemeral = rapid.Bool().Draw(t, "enabled"), rapid.Bool().Draw(t, "healthy"), rapid.Bool().Draw(t, "ephemeral")
		r.Metadata = rapid.MapOf(rapid.SampledFrom([]string{"k", "l", "m"}), rapid.SampledFrom([]string{"", "v", "w"})).Draw(t, "metadata")
		return r
	})
}

// A layer leads from one registration to the other, two in a row are one, and
// what a layer does not touch stays as the layer below has it.
func TestCase25_Layers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b, c := anyRegistration().Draw(rt, "a"), anyRegistration().Draw(rt, "b"), anyRegistration().Draw(rt, "c")
		first, second := between(a, b), between(b, c)
		require.Equal(rt, b, first.over(a))
		require.Equal(rt, c, first.then(second).over(a))
		require.True(rt, between(a, a).empty())
		require.Equal(rt, a, overlay{}.over(a))

		x := anyRegistration().Draw(rt, "x")
		onX := first.over(x)
		for key, value := range x.Metadata {
			if _, set := first.set[key]; !set && !first.removed[key] {
				require.Equal(rt, value, onX.Metadata[key])
			}
		}
		if first.weight == nil {
			require.Equal(rt, x.Weight, onX.Weight)
		}
	})
}
