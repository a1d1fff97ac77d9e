package nacos

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

// With pushes on, every name that is asked for is one that may be pushed; behind a
// gateway anybody can make some up.
func TestPush_NamesDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Source{fetched: map[string]map[registry.ServiceID]time.Time{}, sweepAt: minSweep}
		kept := registry.ServiceID{Name: "orders"}.Normalize()
		for n := range 20 * minSweep {
			s.expect(registry.ServiceID{Name: fmt.Sprint("made-up-", n)}.Normalize())
			s.expect(kept)
			time.Sleep(time.Second)
		}
		require.LessOrEqual(t, len(s.fetched), 2*minSweep)
		require.Contains(t, s.fetched, kept.Grouped())
	})
}
