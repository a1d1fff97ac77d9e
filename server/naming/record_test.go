package naming

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	versions = rapid.Custom(func(t *rapid.T) Version {
		return Version{Clock: rapid.Uint64Range(1, 6).Draw(t, "clock"), Node: rapid.Uint16Range(1, 3).Draw(t, "node")}
	})
	texts     = rapid.SampledFrom([]string{"", "a", "b"})
	metadatas = rapid.MapOfN(rapid.SampledFrom([]string{"k", "l", "m"}), texts, 0, 3)
	wants     = rapid.Custom(func(t *rapid.T) values {
		return values{
			weight:   rapid.SampledFrom([]float64{0, 1, 2}).Draw(t, "weight"),
			enabled:  rapid.Bool().Draw(t, "enabled"),
			metadata: metadatas.Draw(t, "metadata"),
			app:      texts.Draw(t, "app"),
		}
	})
)

// drawRecord draws a record whose content is a function of its versions, as no
// node writes two different things under one version.
func drawRecord(t *rapid.T) record {
	reg, ovr := versions.Draw(t, "reg"), versions.Draw(t, "ovr")
	weight := float64(ovr.Clock*10 + uint64(ovr.Node))
	return record{
		reg: Registered{Version: reg, Gone: reg.Clock%3 == 0, Weight: float64(reg.Clock*10 + uint64(reg.Node))},
		ovr: Override{Version: ovr, Weight: &weight},
	}
}

func TestRecord_JoinDependsOnNeitherOrderNorRepetition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawRecord(t), drawRecord(t), drawRecord(t)
		for name, diff := range map[string]string{
			"commutative": cmp.Diff(join(a, b), join(b, a), cmp.AllowUnexported(record{})),
			"associative": cmp.Diff(join(join(a, b), c), join(a, join(b, c)), cmp.AllowUnexported(record{})),
			"idempotent":  cmp.Diff(join(a, join(a, b)), join(a, b), cmp.AllowUnexported(record{})),
		} {
			if diff != "" {
				t.Fatalf("not %s: %s", name, diff)
			}
		}
	})
}

func TestRecord_OverrideTurnsWhatIsRegisteredIntoWhatIsWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		registered, want := wants.Draw(t, "registered"), wants.Draw(t, "want")
		reg := Registered{
			Version: Version{Clock: 1}, Since: Version{Clock: 1}, Weight: registered.weight,
			Enabled: registered.enabled, Metadata: registered.metadata, App: registered.app,
		}
		ovr := override(reg, want)
		ovr.Version = Version{Clock: 2}
		got := record{reg: reg, ovr: ovr}.effective()
		if !maps.Equal(got.metadata, want.metadata) {
			t.Fatalf("metadata %v, want %v", got.metadata, want.metadata)
		}
		got.metadata, want.metadata = nil, nil
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(values{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestRecord_AnEqualValueIsNotFrozen(t *testing.T) {
	reg := Registered{Weight: 1, Enabled: true, Metadata: map[string]string{"v": "1"}}
	require.Equal(t, Override{}, override(reg, values{weight: 1, enabled: true, metadata: map[string]string{"v": "1"}}))
}

func TestRecord_AnOverrideOfAnEarlierLifeHasNoEffect(t *testing.T) {
	off := false
	r := record{
		reg: Registered{Version: Version{Clock: 9}, Since: Version{Clock: 5}, Enabled: true},
		ovr: Override{Version: Version{Clock: 5}, Enabled: &off},
	}
	require.True(t, r.effective().enabled)
	r.ovr.Version.Clock = 6
	require.False(t, r.effective().enabled)
}

func TestHybridClock_NeverLosesToWhatItHasSeen(t *testing.T) {
	wall := time.UnixMilli(1_000_000)
	c := &hybridClock{node: 1, wall: func() time.Time { return wall }}

	first := c.next(Version{})
	require.Equal(t, uint64(wall.UnixMilli()), first.Clock>>16)
	wall = wall.Add(-time.Hour)
	require.Positive(t, c.next(Version{}).Compare(first), "its own last version, whatever the wall clock does")

	wall = time.UnixMilli(1_000_000)
	peer := Version{Clock: uint64(wall.Add(9*time.Minute).UnixMilli()) << 16, Node: 2}
	require.True(t, c.observe(peer))
	require.Positive(t, c.next(Version{}).Compare(peer), "what it observed")
}

func TestHybridClock_AClockFarAheadIsOutdoneButNotAdopted(t *testing.T) {
	wall := time.UnixMilli(1_000_000)
	c := &hybridClock{node: 1, wall: func() time.Time { return wall }}
	bad := Version{Clock: uint64(wall.Add(time.Hour).UnixMilli()) << 16, Node: 2}

	require.False(t, c.observe(bad))
	require.Positive(t, c.next(bad).Compare(bad), "a write to that register wins")
	require.Negative(t, c.next(Version{}).Compare(bad), "other registers do not run ahead")
}
