package loadbalance_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func TestState_ShowsWhatCallsGoBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		s.Set(orders, inst(1, in("N")), inst(2, in("S"), meta("zone", "z")), inst(3, in("N"), unhealthy), inst(4, in("N"), func(i *registry.Instance) { i.Weight = 3 }))
		o := with(outlier, func(p *loadbalance.Properties) { p.Algorithm = "p2c" })
		o.Cluster = "N"
		l := balancer(t, s, o)
		_, known := l.State(orders)
		require.False(t, known)
		require.Empty(t, l.States())
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		state, known := l.State(orders)
		require.True(t, known)
		require.Equal(t, []string{"usable", "outlier", "same-cluster", "retry-aware"}, state.Chain)
		require.Equal(t, "p2c", state.Algorithm)
		require.Equal(t, int64(10), state.Retries)
		require.True(t, state.Tracked)
		weights, active := []float64{}, int64(0)
		for _, i := range state.Instances {
			weights = append(weights, i.EffectiveWeight)
			active += i.Active
		}
		require.Equal(t, []float64{1, 0, 3, 0}, weights, "in the order of the list: N, N, N, S")
		require.Equal(t, int64(1), active)
		require.Equal(t, "z", state.Instances[3].Zone)
		r.Done(loadbalance.Outcome{Latency: time.Second})
		all := l.States()
		require.Len(t, all, 1)
		text, err := json.Marshal(all)
		require.NoError(t, err)
		require.Contains(t, string(text), `"effectiveWeight":3`)
	})
}

func TestModule_TakesPropertiesLifecyclesAndTransformers(t *testing.T) {
	source := memory.New()
	source.Set(orders, inst(1))
	p := loadbalance.DefaultProperties()
	p.EagerLoad.Clients = []string{"orders"}
	p.HTTP.ConnectTimeout = time.Millisecond
	d := &diary{}
	var balancer *loadbalance.LoadBalancer
	var client *loadbalance.HTTPClient
	app := fxtest.New(t, fx.NopLogger, discovery.Module, loadbalance.Module,
		fx.Supply(&p),
		fx.Provide(
			fx.Annotate(func() discovery.Source { return source }, fx.ResultTags(`group:"discovery.sources"`)),
			fx.Annotate(func() loadbalance.Lifecycle { return d }, fx.ResultTags(`group:"loadbalance.lifecycles"`)),
			fx.Annotate(func() loadbalance.Transformer {
				return loadbalance.Transformer{Name: "refuse", Transform: func(*http.Request, *registry.Instance) (*http.Request, error) { return nil, errTransform }}
			}, fx.ResultTags(`group:"loadbalance.transformers"`)),
		),
		fx.Populate(&balancer, &client)).RequireStart()
	_, loaded := balancer.State(orders)
	require.True(t, loaded, "loaded eagerly")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
	require.NoError(t, err)
	resp, err := client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	require.ErrorIs(t, err, errTransform)
	require.NotEmpty(t, d.take())
	require.Equal(t, time.Millisecond, balancer.Properties().HTTP.ConnectTimeout)
	app.RequireStop()
}
