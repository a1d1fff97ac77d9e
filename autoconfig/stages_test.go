package autoconfig

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func TestDR1_AChainNamesStagesOfTheApplication(t *testing.T) {
	second := loadbalance.FilterStage("second", loadbalance.Where(func(i *registry.Instance) bool {
		return i.IP == "192.0.2.2"
	}), false)
	synctest.Test(t, func(t *testing.T) {
		m := startMoving(t, Stages(second), Default("cloud.loadbalancer.chain", "usable, second"))
		require.Equal(t, "192.0.2.2", m.called())
		require.NoError(t, m.reload("cloud.loadbalancer.chain: [usable]\ncloud.loadbalancer.clients.users.chain: [usable, second]\n"))
		require.Equal(t, "192.0.2.2", m.called(), "a reload knows them, and the settings of one service do")

		var problems *ConfigError
		require.ErrorAs(t, m.reload("cloud.loadbalancer: {chain: [usable, third], subset.size: 0}\n"), &problems)
		require.Len(t, problems.Problems, 2)
		require.Equal(t, "cloud.loadbalancer.chain", problems.Problems[1].Key)
	})
	_, err := New(alone, Property("cloud.loadbalancer.chain", "usable, second"))
	require.ErrorContains(t, err, `"second" is no stage`)
}
