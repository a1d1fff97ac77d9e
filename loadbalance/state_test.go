package loadbalance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

// Names may come from outside, as behind a gateway: those that are not called
// any more must not add up, and those that are must stay.
func TestStates_AreSweptWhenNewOnesCome(t *testing.T) {
	l := &LoadBalancer{epoch: time.Now()}
	l.services.init()
	l.stats = newStatistics(nil, &l.services)
	add := func(name string) *state {
		id := registry.ServiceID{Name: name}
		if s := l.services.get(id); s != nil {
			return s
		}
		s := l.services.add(id, l, false)
		l.services.classify(s, true)
		return s
	}
	first := add("steady")
	for n := range 20 * sweepEvery {
		add(fmt.Sprint("passing-", n))
		require.Same(t, first, add("steady"))
		require.LessOrEqual(t, len(*l.services.current.Load()), 2*(sweepEvery+1))
	}
}
