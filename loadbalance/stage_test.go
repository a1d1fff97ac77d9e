package loadbalance_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// with returns options over the default properties, edited.
func with(edits ...func(*loadbalance.Properties)) loadbalance.Options {
	p := loadbalance.DefaultProperties()
	for _, edit := range edits {
		edit(&p)
	}
	return loadbalance.Options{Properties: &p}
}

func chain(names ...string) func(*loadbalance.Properties) {
	return func(p *loadbalance.Properties) { p.Chain = names }
}

func preset(name string) func(*loadbalance.Properties) {
	return func(p *loadbalance.Properties) { p.Configurations = name }
}

// meta returns an edit that sets metadata: key, value, key, value.
func meta(pairs ...string) func(*registry.Instance) {
	return func(i *registry.Instance) {
		if i.Metadata == nil {
			i.Metadata = map[string]string{}
		}
		for n := 0; n < len(pairs); n += 2 {
			i.Metadata[pairs[n]] = pairs[n+1]
		}
	}
}

// going returns where 200 calls like this go.
func going(t *testing.T, l *loadbalance.LoadBalancer, r loadbalance.Request) string {
	t.Helper()
	counts := map[string]int{}
	r.Service = orders
	for range 200 {
		got, err := l.ChooseFor(t.Context(), r)
		require.NoError(t, err)
		counts[got.Instance.IP[len("192.0.2."):]]++
	}
	return keys(counts)
}

func header(pairs ...string) loadbalance.Request {
	h := http.Header{}
	for n := 0; n < len(pairs); n += 2 {
		h.Add(pairs[n], pairs[n+1])
	}
	return loadbalance.Request{Header: h}
}

func TestDR13_ZoneWithSpillOver(t *testing.T) {
	zone := func(name string) func(*registry.Instance) { return meta("zone", name) }
	for _, c := range []struct {
		name string
		edit func(*loadbalance.Properties)
		own  loadbalance.Options
		list []registry.Instance
		want string
	}{
		{"own zone", nil, loadbalance.Options{Zone: "a"}, []registry.Instance{inst(1, zone("a")), inst(2, zone("A")), inst(3, zone("b"))}, "12"},
		{"the property goes first", func(p *loadbalance.Properties) { p.Zone = "b" }, loadbalance.Options{Zone: "a"}, []registry.Instance{inst(1, zone("a")), inst(2, zone("b")), inst(3, zone("b"))}, "23"},
		{"cluster stands in", nil, loadbalance.Options{Cluster: "N"}, []registry.Instance{inst(1, in("N")), inst(2, in("N")), inst(3, in("S")), inst(4, in("S"), zone("n"))}, "124"},
		{"fewer than two", nil, loadbalance.Options{Zone: "a"}, []registry.Instance{inst(1, zone("a")), inst(2, zone("b"))}, "12"},
		{"one is enough when configured", func(p *loadbalance.Properties) { p.MinAvailable = 1 }, loadbalance.Options{Zone: "a"}, []registry.Instance{inst(1, zone("a")), inst(2, zone("b"))}, "1"},
		{"none there", func(p *loadbalance.Properties) { p.MinAvailable = 0 }, loadbalance.Options{Zone: "c"}, []registry.Instance{inst(1, zone("a")), inst(2, zone("b"))}, "12"},
		{"no zone of one's own", nil, loadbalance.Options{}, []registry.Instance{inst(1, zone("a")), inst(2, zone("a")), inst(3, zone("b"))}, "123"},
		{
			"less than a fifth healthy", func(p *loadbalance.Properties) { p.MinAvailable = 1 },
			loadbalance.Options{Zone: "a"},
			[]registry.Instance{inst(1, zone("a")), inst(2, zone("a"), unhealthy), inst(3, zone("a"), unhealthy), inst(4, zone("a"), unhealthy), inst(5, zone("a"), unhealthy), inst(6, zone("a"), unhealthy), inst(7, zone("b"))},
			"17",
		},
		{
			"a fifth healthy", func(p *loadbalance.Properties) { p.MinAvailable = 1 },
			loadbalance.Options{Zone: "a"},
			[]registry.Instance{inst(1, zone("a")), inst(2, zone("a"), unhealthy), inst(3, zone("a"), unhealthy), inst(4, zone("a"), unhealthy), inst(5, zone("a"), unhealthy), inst(7, zone("b"))},
			"1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			edits := []func(*loadbalance.Properties){preset(loadbalance.StageZone)}
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			o := with(edits...)
			o.Zone, o.Cluster = c.own.Zone, c.own.Cluster
			require.Equal(t, c.want, keys(chosen(t, having(t, o, c.list...))))
		})
	}
}

func TestDR1_HintComesFromTheHeaderElseTheConfiguration(t *testing.T) {
	list := []registry.Instance{inst(1, meta("hint", "blue")), inst(2, meta("hint", "green")), inst(3, meta("hint", "default")), inst(4)}
	l := having(t, with(chain("usable", "hint")), list...)
	require.Equal(t, "1", going(t, l, header("X-SC-LB-Hint", "blue")))
	require.Equal(t, "3", going(t, l, loadbalance.Request{}), "the word default is the hint of calls without one")
	require.Equal(t, "1234", going(t, l, header("X-SC-LB-Hint", "red")), "nobody has it")

	l = having(t, with(func(p *loadbalance.Properties) {
		p.Hint, p.HintHeaderName = map[string]string{"ORDERS": "green", "default": "blue"}, "x-tint"
	}), list...)
	require.Equal(t, "2", going(t, l, loadbalance.Request{}), "a configured hint lets the stage take part")
	require.Equal(t, "1", going(t, l, header("X-Tint", "blue")))
}

func TestDR1_StickyCookieLeadsToItsInstance(t *testing.T) {
	named := func(id string) func(*registry.Instance) { return func(i *registry.Instance) { i.ID = id } }
	l := having(t, with(preset(loadbalance.StageSticky)), inst(1, named("one")), inst(2, named("two")), inst(3))
	require.Equal(t, "2", going(t, l, header("Cookie", `a=b; sc-lb-instance-id=two; c=d`)))
	require.Equal(t, "3", going(t, l, header("Cookie", `sc-lb-instance-id="192.0.2.3:8080"`)), "without an id the address is it")
	require.Equal(t, "123", going(t, l, header("Cookie", "sc-lb-instance-id=gone")))
	require.Equal(t, "123", going(t, l, loadbalance.Request{}))
	r := header("Cookie", "sc-lb-instance-id=two")
	two := inst(2)
	r.Tried = []*registry.Instance{&two}
	require.Equal(t, "13", going(t, l, r), "another attempt leaves the instance that failed")

	l = having(t, with(preset(loadbalance.StageSticky), func(p *loadbalance.Properties) { p.StickySession.InstanceIDCookieName = "at" }),
		inst(1, named("one")), inst(2, named("two")))
	require.Equal(t, "2", going(t, l, header("Cookie", "at=two; sc-lb-instance-id=one")), "the cookie of the configuration")
}

func TestDR1_SameInstanceIsKept(t *testing.T) {
	s := memory.New()
	s.Set(orders, inst(1), inst(2), inst(3))
	l := balancer(t, s, with(preset(loadbalance.StageSameInstance)))
	first := keys(chosen(t, l))
	require.Len(t, first, 1)
	s.Set(orders, inst(1, meta("a", "b")), inst(2, meta("a", "b")), inst(3, meta("a", "b")), inst(4))
	require.Equal(t, first, keys(chosen(t, l)))
	s.Set(orders, inst(5), inst(6))
	next := keys(chosen(t, l))
	require.Len(t, next, 1)
}

func TestDR1_APIVersion(t *testing.T) {
	list := []registry.Instance{inst(1, meta("API_VERSION", "1.0")), inst(2, meta("API_VERSION", "v2")), inst(3, meta("API_VERSION", "2.0.0")), inst(4)}
	media := map[string]string{"application/json": "version"}
	at := func(raw string) loadbalance.Request {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		return loadbalance.Request{URL: u}
	}
	for _, c := range []struct {
		name    string
		version loadbalance.APIVersionProperties
		request loadbalance.Request
		want    string
	}{
		{"header", loadbalance.APIVersionProperties{Header: "api-version", PathSegment: -1}, header("API-Version", "2"), "23"},
		{"query", loadbalance.APIVersionProperties{QueryParameter: "v", PathSegment: -1}, at("http://orders/?a=b&v=1"), "1"},
		{"escaped query", loadbalance.APIVersionProperties{QueryParameter: "v", PathSegment: -1}, at("http://orders/?%76=%31"), "1"},
		{"path", loadbalance.APIVersionProperties{PathSegment: 1}, at("http://orders/api/v2/x"), "23"},
		{"media type", loadbalance.APIVersionProperties{PathSegment: -1, MediaTypeParameters: media}, header("Accept", "text/html, application/json;version=1.0.0"), "1"},
		{"content type", loadbalance.APIVersionProperties{PathSegment: -1, MediaTypeParameters: media}, header("Content-Type", "application/json; version=2"), "23"},
		{"header before query", loadbalance.APIVersionProperties{Header: "V", QueryParameter: "v", PathSegment: -1}, func() loadbalance.Request {
			r := at("http://orders/?v=1")
			r.Header = http.Header{"V": {"2"}}
			return r
		}(), "23"},
		{"default", loadbalance.APIVersionProperties{Header: "V", Default: "1", PathSegment: -1}, loadbalance.Request{}, "1"},
		{"none asked for", loadbalance.APIVersionProperties{Header: "V", PathSegment: -1}, loadbalance.Request{}, "1234"},
		{"fallback", loadbalance.APIVersionProperties{Header: "V", PathSegment: -1, FallbackToAvailableInstances: true}, header("V", "9"), "1234"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := having(t, with(preset(loadbalance.StageAPIVersion), func(p *loadbalance.Properties) { p.APIVersion = c.version }), list...)
			require.Equal(t, c.want, going(t, l, c.request))
		})
	}
	l := having(t, with(preset(loadbalance.StageAPIVersion), func(p *loadbalance.Properties) {
		p.APIVersion = loadbalance.APIVersionProperties{Header: "V", Required: true, PathSegment: -1}
	}), list...)
	for text, want := range map[string]error{"": loadbalance.ErrAPIVersion, "x": loadbalance.ErrAPIVersion, "9": loadbalance.ErrNoInstance} {
		r := header("V", text)
		r.Service = orders
		_, err := l.ChooseFor(t.Context(), r)
		require.ErrorIs(t, err, want, text)
	}
}

func TestDR1_PresetsAndChains(t *testing.T) {
	require.Equal(t, []string{
		"api-version", "default", "health-check", "request-based-sticky-session",
		"same-instance-preference", "subset", "weighted", "zone-preference",
	}, loadbalance.Presets())
	for _, c := range []struct {
		name string
		edit func(*loadbalance.Properties)
		want []string
		err  string
	}{
		{"default", preset("default"), []string{"usable", "same-cluster", "retry-aware"}, ""},
		{"no preference", func(p *loadbalance.Properties) { p.Nacos.Enabled = false }, []string{"usable", "retry-aware"}, ""},
		{"weighted", preset("weighted"), []string{"usable", "same-cluster", "weighted", "retry-aware"}, ""},
		{"switched on beside a preset", func(p *loadbalance.Properties) {
			p.Configurations, p.Outlier.Enabled, p.Hint = "zone-preference", true, map[string]string{"default": "x"}
		}, []string{"usable", "outlier", "hint", "zone-preference", "retry-aware"}, ""},
		{"chain", func(p *loadbalance.Properties) {
			p.Chain, p.Retry.AvoidPreviousInstance = []string{"usable", "outlier", "subset", "zone-preference"}, false
		}, []string{"usable", "outlier", "subset", "zone-preference"}, ""},
		{"unknown", chain("usable", "fast"), nil, `"fast" is no stage, there are usable`},
		{"without usable", chain("outlier"), nil, "must begin with usable"},
		{"twice", chain("usable", "subset", "subset"), nil, "subset stands twice"},
		{"probes behind a preference", chain("usable", "hint", "health-check"), nil, "health-check (which are alive) must stand before hint"},
		{"required behind a preference", chain("usable", "zone-preference", "api-version"), nil, "api-version (what must hold) must stand before zone-preference"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := with(c.edit)
			err := o.Properties.Validate()
			if c.err != "" {
				require.ErrorContains(t, err, "chain: ")
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			l := having(t, o, inst(1))
			chosen(t, l)
			state, ok := l.State(orders)
			require.True(t, ok)
			require.Equal(t, c.want, state.Chain)
		})
	}
}

func TestDR1_StagesOfOnesOwn(t *testing.T) {
	o := with(chain("usable", "tenant", "big", "zone-preference"))
	o.Stages = []loadbalance.Stage{
		loadbalance.RequestStage("tenant",
			func(r *loadbalance.Request) string { return r.Header.Get("Tenant") },
			func(i *registry.Instance) string { return i.Metadata["tenant"] }, true),
		loadbalance.FilterStage("big", loadbalance.Where(func(i *registry.Instance) bool { return i.Weight > 1 }), false),
	}
	big := func(i *registry.Instance) { i.Weight = 2 }
	l := having(t, o, inst(1, meta("tenant", "a")), inst(2, meta("tenant", "a"), big), inst(3, meta("tenant", "b")), inst(4))
	require.Equal(t, "2", going(t, l, header("Tenant", "a")))
	require.Equal(t, "3", going(t, l, header("Tenant", "b")))
	require.Equal(t, "2", going(t, l, loadbalance.Request{}))
	_, err := l.ChooseFor(t.Context(), loadbalance.Request{Service: orders, Header: http.Header{"Tenant": {"c"}}})
	require.ErrorIs(t, err, loadbalance.ErrNoInstance)
}

func TestDR3_SubsetDependsOnIDsAlone(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "n")
		size := rapid.IntRange(1, 20).Draw(t, "size")
		var list []registry.Instance
		for i := range n {
			list = append(list, registry.NewInstance(orders, "192.0.2.1", i+1))
		}
		own := rapid.StringMatching("[a-z]{1,8}").Draw(t, "own")
		pick := func(list []registry.Instance) map[string]bool {
			s := memory.New()
			s.Set(orders, list...)
			o := with(preset("subset"), func(p *loadbalance.Properties) { p.Subset.InstanceID, p.Subset.Size = own, size })
			l := balancer(outer, s, o)
			if _, err := l.Choose(context.Background(), orders); err != nil {
				t.Fatal(err)
			}
			state, _ := l.State(orders)
			subset := map[string]bool{}
			for _, i := range state.Instances {
				if i.EffectiveWeight > 0 {
					subset[i.ID] = true
				}
			}
			return subset
		}
		before := pick(list)
		if len(before) != min(n, size) {
			t.Fatalf("%d of %d, want %d", len(before), n, size)
		}
		gone := rapid.IntRange(0, n-1).Draw(t, "gone")
		after := pick(append(append([]registry.Instance{}, list[:gone]...), list[gone+1:]...))
		lost := 0
		for id := range before {
			if !after[id] {
				lost++
			}
		}
		if lost > 1 || lost == 1 && !before[fmt.Sprintf("192.0.2.1:%d", gone+1)] {
			t.Fatalf("one left and %d of the subset changed", lost)
		}
	})
}

func TestDR3_SubsetsOfDifferentCallersDiffer(t *testing.T) {
	subsets, instances := map[string]bool{}, map[rune]bool{}
	for caller := range 30 {
		o := with(preset("subset"), func(p *loadbalance.Properties) { p.Subset.Size = 2 })
		o.InstanceID = fmt.Sprint("caller-", caller)
		subset := keys(chosen(t, having(t, o, inst(1), inst(2), inst(3), inst(4), inst(5), inst(6))))
		require.Len(t, subset, 2)
		subsets[subset] = true
		for _, n := range subset {
			instances[n] = true
		}
	}
	require.Greater(t, len(subsets), 8)
	require.Len(t, instances, 6, "nobody is left out by all")
}

// Two processes that say they are one caller use one subset.
func TestDR3_SubsetIsDrawnForTheCallerThatIsNamed(t *testing.T) {
	subset := func(process, caller string) string {
		o := with(preset("subset"), func(p *loadbalance.Properties) { p.Subset.InstanceID, p.Subset.Size = caller, 2 })
		o.InstanceID = process
		return keys(chosen(t, having(t, o, inst(1), inst(2), inst(3), inst(4), inst(5), inst(6))))
	}
	want, own := subset("a", "shop"), map[string]bool{}
	for n := range 20 {
		process := fmt.Sprint("process-", n)
		require.Equal(t, want, subset(process, "shop"))
		own[subset(process, "")] = true
	}
	require.Greater(t, len(own), 1)
}

func TestDR1_WeightedRepeatsByMetadata(t *testing.T) {
	o := with(preset("weighted"), func(p *loadbalance.Properties) { p.Algorithm = "round-robin" })
	l := having(t, o, inst(1, meta("weight", "3")), inst(2), inst(3, meta("weight", "-2")), inst(4, meta("weight", "x")))
	var order []string
	counts := map[string]int{}
	for range 60 {
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		order = append(order, r.Instance.IP)
		counts[r.Instance.IP]++
	}
	require.Equal(t, map[string]int{"192.0.2.1": 30, "192.0.2.2": 10, "192.0.2.3": 10, "192.0.2.4": 10}, counts)
	for n := range order[2:] {
		require.False(t, order[n] == order[n+1] && order[n+1] == order[n+2], "spread, not in blocks")
	}
}

func TestDR16_NewInstancesAreWarmedUp(t *testing.T) {
	for _, algorithm := range []string{"weighted-random", "round-robin", "random", "weighted-round-robin"} {
		t.Run(algorithm, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				s.Set(orders, inst(1))
				o := with(func(p *loadbalance.Properties) { p.WarmUp, p.Algorithm = 100*time.Second, algorithm })
				o.Rand = seeded()
				l := balancer(t, s, o)
				require.Equal(t, 100.0, share(t, l, "192.0.2.1"))
				s.Set(orders, inst(1), inst(2))
				require.InDelta(t, 5, share(t, l, "192.0.2.2"), 3)
				time.Sleep(50 * time.Second)
				require.InDelta(t, 33, share(t, l, "192.0.2.2"), 5)
				time.Sleep(51 * time.Second)
				require.InDelta(t, 50, share(t, l, "192.0.2.2"), 5)
				state, _ := l.State(orders)
				require.Equal(t, 1.0, state.Instances[1].EffectiveWeight)
			})
		})
	}
}

// share chooses 20,000 times and returns the percentage of one address.
func share(t *testing.T, l *loadbalance.LoadBalancer, ip string) float64 {
	t.Helper()
	const picks = 20000
	n := 0
	for range picks {
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		if r.Instance.IP == ip {
			n++
		}
	}
	return 100 * float64(n) / picks
}
