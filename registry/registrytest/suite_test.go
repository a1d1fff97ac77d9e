package registrytest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/memory"
	"github.com/rollcall-go/rollcall/registry/registrytest"
)

func TestRun_LeavesOutWhatItIsTold(t *testing.T) {
	var r *memory.Registry
	tried := 0
	registrytest.Run(t, registrytest.Harness{
		New: func(t *testing.T) registry.ServiceRegistry {
			require.False(t, strings.HasSuffix(t.Name(), "/Register_carries_IPv6"), "it was left out")
			tried++
			r = memory.New()
			return r
		},
		List:    func(_ *testing.T, id registry.ServiceID) []registry.Instance { return r.Instances(id) },
		LeftOut: map[string]string{"Register carries IPv6": "it is only an example"},
	})
	require.Greater(t, tried, 10)
}
