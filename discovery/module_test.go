package discovery_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

func inGroup(s *fakeSource) fx.Option {
	return fx.Provide(fx.Annotate(func() discovery.Source { return s }, fx.ResultTags(`group:"discovery.sources"`)))
}

func TestModule_ProvidesTheClientOverTheGroupInOrderAndClosesIt(t *testing.T) {
	a, b, c := newFake(inst(1)), newFake(inst(2)), newFake(inst(3))
	a.name, b.name, c.name = "a", "b", "c"
	var client *discovery.Client
	app := fxtest.New(t, fx.NopLogger, discovery.Module, inGroup(a), inGroup(b), inGroup(c),
		fx.Supply(discovery.Options{Order: []string{"c", "a"}}), fx.Populate(&client)).RequireStart()
	require.Equal(t, []string{inst(3).IP}, addresses(snapshot(t, client)))
	c.set()
	b.fail(errDown)
	_, err := client.Snapshot(t.Context(), registry.ServiceID{Name: "other"})
	require.NoError(t, err, "a comes before b")
	app.RequireStop()
	for _, s := range []*fakeSource{a, b, c} {
		require.Equal(t, 1, s.closed)
	}
}

func TestModule_PublishesToTheGraphsPublisher(t *testing.T) {
	told := make(chan any, 1)
	publisher := registry.PublisherFunc(func(_ context.Context, event any) error { told <- event; return nil })
	var client *discovery.Client
	app := fxtest.New(t, fx.NopLogger, discovery.Module, inGroup(newFake(inst(1))),
		fx.Provide(func() registry.Publisher { return publisher }), fx.Populate(&client)).RequireStart()
	snapshot(t, client)
	require.IsType(t, registry.InstancesChanged{}, <-told)
	app.RequireStop()
}

func TestModule_WithoutSourcesDoesNotStart(t *testing.T) {
	app := fx.New(fx.NopLogger, discovery.Module, fx.Invoke(func(*discovery.Client) {}))
	require.ErrorContains(t, app.Err(), "at least one is needed")
}

func TestMetrics_CountFetchesAndStaleServices(t *testing.T) {
	r := prometheus.NewRegistry()
	s := newFake(inst(1))
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{s}, Registerer: r})
	require.NoError(t, err)
	snapshot(t, c)
	s.set()
	_, err = c.Snapshot(t.Context(), registry.ServiceID{Name: "empty"})
	require.NoError(t, err)
	s.fail(errDown)
	_, err = c.Snapshot(t.Context(), registry.ServiceID{Name: "failing"})
	require.Error(t, err)
	for _, outcome := range []string{"list", "empty", "error"} {
		require.InDelta(t, 1, counter(t, r, "rollcall_discovery_fetches_total", "fake", outcome), 0, outcome)
	}
	require.InDelta(t, 0, stale(t, r), 0)

	_, err = discovery.New(discovery.Options{Sources: []discovery.Source{newFake()}, Registerer: r})
	require.ErrorAs(t, err, &prometheus.AlreadyRegisteredError{})
	require.NoError(t, c.Close())
	again, err := discovery.New(discovery.Options{Sources: []discovery.Source{newFake()}, Registerer: r})
	require.NoError(t, err, "Close takes the metrics away")
	require.NoError(t, again.Close())
}

func TestMetrics_StaleServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		s := newFake(inst(1))
		c := newClient(t, discovery.Options{Sources: []discovery.Source{s}, Registerer: r})
		snapshot(t, c)
		s.fail(errDown)
		after(time.Minute)
		require.InDelta(t, 1, stale(t, r), 0)
		s.set(inst(1))
		after(time.Minute)
		require.InDelta(t, 0, stale(t, r), 0)
	})
}

func stale(t *testing.T, g prometheus.Gatherer) float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "rollcall_discovery_stale_services" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}

func counter(t *testing.T, g prometheus.Gatherer, name string, labels ...string) float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			// Labels are sorted by name: outcome, source.
			if len(values) == 2 && values[1] == labels[0] && values[0] == labels[1] {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func BenchmarkSnapshot(b *testing.B) {
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{newFake(inst(1))}})
	require.NoError(b, err)
	defer c.Close()
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Snapshot(ctx, orders); err != nil {
			b.Fatal(err)
		}
	}
}

func TestSnapshot_OfAKnownServiceAllocatesNothing(t *testing.T) {
	c := over(t, newFake(inst(1)))
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = c.Snapshot(ctx, orders) }))
}
