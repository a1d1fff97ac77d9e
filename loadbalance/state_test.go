package loadbalance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

// Names may come from outside, as behind a gateway: those that are not called
// any more must not add up, and those that are must stay.
func TestStates_AreSweptWhenNewOnesCome(t *testing.T) {
	var services states
	services.init()
	steady := registry.ServiceID{Name: "steady"}
	first := services.get(steady)
	for n := range 20 * sweepEvery {
		services.get(registry.ServiceID{Name: fmt.Sprint("passing-", n)})
		require.Same(t, first, services.get(steady))
		require.LessOrEqual(t, len(*services.current.Load()), 2*(sweepEvery+1))
	}
}
