package loadbalance_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
)

func TestModule_ProvidesBalancerAndClientAndClosesThem(t *testing.T) {
	source := memory.New()
	source.Set(orders, inst(1), inst(2))
	var balancer *loadbalance.LoadBalancer
	var client *loadbalance.HTTPClient
	plain := &http.Client{}
	var found *http.Client
	app := fxtest.New(t, fx.NopLogger, discovery.Module, loadbalance.Module,
		fx.Supply(plain),
		fx.Supply(loadbalance.Options{Cluster: "DEFAULT", PreferSameCluster: true}),
		fx.Provide(func() loadbalance.Policy { return loadbalance.RoundRobin(nil) }),
		fx.Provide(fx.Annotate(func() discovery.Source { return source }, fx.ResultTags(`group:"discovery.sources"`))),
		fx.Populate(&balancer, &client, &found)).RequireStart()
	require.Same(t, plain, found, "a plain client stays plain")
	require.NotSame(t, plain, client.Client)
	a, err := balancer.Choose(t.Context(), orders)
	require.NoError(t, err)
	b, err := balancer.Choose(t.Context(), orders)
	require.NoError(t, err)
	require.NotEqual(t, a.Instance.IP, b.Instance.IP, "the policy of the graph is used")
	app.RequireStop()
	_, err = balancer.Choose(t.Context(), orders)
	require.ErrorIs(t, err, loadbalance.ErrClosed)
}
