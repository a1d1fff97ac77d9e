package discoverytest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

func testName(t *testing.T, h Harness) {
	s := newSubject(t, h, nil).Source
	before := s.Name()
	require.NotEmpty(t, before)
	require.NoError(t, s.Close())
	require.Equal(t, before, s.Name())
}

func testFetch(t *testing.T, h Harness) {
	content := catalogue()
	s := newSubject(t, h, content).Source
	for id, want := range content {
		l := fetch(t, s, id)
		require.Equal(t, id, l.Service)
		requireInstances(t, want, l.Instances)
		require.GreaterOrEqual(t, l.CacheFor, time.Duration(0))
	}
}

func testUnknown(t *testing.T, h Harness) {
	s := newSubject(t, h, catalogue()).Source
	l := fetch(t, s, unknown)
	require.Equal(t, unknown, l.Service)
	require.Empty(t, l.Instances)
}

func testDefaults(t *testing.T, h Harness) {
	content := catalogue()
	s := newSubject(t, h, content).Source
	l := fetch(t, s, registry.ServiceID{Name: orders.Name})
	require.Equal(t, orders, l.Service, "the answer names the normalised id")
	requireInstances(t, content[orders], l.Instances)
}

func testOwnership(t *testing.T, h Harness) {
	content := catalogue()
	s := newSubject(t, h, content).Source
	l := fetch(t, s, orders)
	slices.Reverse(l.Instances)
	for i := range l.Instances {
		l.Instances[i].Weight = 77
		if l.Instances[i].Metadata != nil {
			l.Instances[i].Metadata["mine"] = "now"
		}
	}
	requireInstances(t, content[orders], fetch(t, s, orders).Instances)
}

func testContext(t *testing.T, h Harness) {
	s := newSubject(t, h, catalogue()).Source
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Fetch(ctx, orders)
	require.Error(t, err)
	_, err = s.Services(ctx, "", "")
	require.Error(t, err)
}

func testServices(t *testing.T, h Harness) {
	s := newSubject(t, h, catalogue()).Source
	for _, c := range []struct {
		name, namespace, group string
		want                   []string
	}{
		{"defaults", "", "", []string{orders.Name, stock.Name}},
		{"named", registry.DefaultNamespace, registry.DefaultGroup, []string{orders.Name, stock.Name}},
		{"other group", "", archive.Group, []string{archive.Name}},
		{"unknown group", "", "NOBODY", nil},
	} {
		names, err := s.Services(within(t), c.namespace, c.group)
		require.NoError(t, err, c.name)
		require.ElementsMatch(t, c.want, names, c.name)
		require.True(t, slices.IsSorted(names), "%s: %v", c.name, names)
	}
}

func testChange(t *testing.T, h Harness) {
	s := newSubject(t, h, catalogue())
	if s.Set == nil {
		t.Skip("this source cannot change")
	}
	fetch(t, s.Source, orders)
	want := []registry.Instance{instance(orders, "192.0.2.77", 9000)}
	s.Set(orders, want)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l, err := s.Source.Fetch(t.Context(), orders)
		require.NoError(c, err)
		require.Equal(c, normalised(want), normalised(l.Instances))
	}, answerWithin, pollEvery)
	s.Set(orders, nil)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l, err := s.Source.Fetch(t.Context(), orders)
		require.NoError(c, err)
		require.Empty(c, l.Instances)
	}, answerWithin, pollEvery)
}

func testFailure(t *testing.T, h Harness) {
	s := newSubject(t, h, catalogue())
	if s.Fail == nil {
		t.Skip("nothing behind this source can fail")
	}
	fetch(t, s.Source, orders)
	s.Fail()
	// A failure must not look like a service without instances.
	_, err := s.Source.Fetch(within(t), orders)
	require.Error(t, err)
	_, err = s.Source.Services(within(t), "", "")
	require.Error(t, err)
}

func testConcurrentUse(t *testing.T, h Harness) {
	content := catalogue()
	s := newSubject(t, h, content)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if l, err := s.Source.Fetch(t.Context(), stock); err != nil || len(l.Instances) != 1 {
					t.Errorf("fetch: %v, %v", l.Instances, err)
				}
				if _, err := s.Source.Services(t.Context(), "", ""); err != nil {
					t.Errorf("services: %v", err)
				}
			}
		})
	}
	if s.Set != nil {
		for n := range 10 {
			s.Set(orders, []registry.Instance{instance(orders, "192.0.2.77", 9000+n)})
		}
	}
	wg.Wait()
}

func testClose(t *testing.T, h Harness) {
	s := newSubject(t, h, catalogue()).Source
	fetch(t, s, orders)
	began := time.Now()
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Less(t, time.Since(began), answerWithin)
	_, err := s.Fetch(within(t), orders)
	require.ErrorIs(t, err, discovery.ErrClosed)
	_, err = s.Services(within(t), "", "")
	require.ErrorIs(t, err, discovery.ErrClosed)
}
