package loadbalance_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// hundred are 100 instances, half of them in zone a, of differing weights.
func hundred() []registry.Instance {
	var list []registry.Instance
	for n := range 100 {
		i := registry.NewInstance(orders, "192.0.2.1", n+1)
		i.Weight = float64(1 + n%3)
		i.Metadata = map[string]string{"zone": []string{"a", "b"}[n%2], "hint": "x", "API_VERSION": "1.0"}
		list = append(list, i)
	}
	return list
}

// ways are configurations by which a choice must not cost anything.
func ways() map[string]loadbalance.Options {
	zone := func(p *loadbalance.Properties) { p.Zone, p.Configurations = "a", "zone-preference" }
	algorithm := func(name string) func(*loadbalance.Properties) {
		return func(p *loadbalance.Properties) { p.Algorithm, p.HashKey = name, "cookie:user" }
	}
	return map[string]loadbalance.Options{
		"default":              with(),
		"zone+outlier":         with(zone, outlier),
		"weighted-round-robin": with(zone, outlier, algorithm("weighted-round-robin")),
		"least-active":         with(algorithm("least-active")),
		"p2c":                  with(zone, outlier, algorithm("p2c")),
		"consistent-hash":      with(algorithm("consistent-hash")),
		"hint":                 with(chain("usable", "hint")),
		"sticky":               with(preset("request-based-sticky-session")),
		"same-instance":        with(preset("same-instance-preference")),
		"weighted":             with(preset("weighted")),
		"subset":               with(preset("subset")),
		"api-version": with(preset("api-version"), func(p *loadbalance.Properties) {
			p.APIVersion.Header = "Version"
			p.APIVersion.PathSegment = 0
		}),
		"active limit": with(outlier, func(p *loadbalance.Properties) { p.Outlier.ActiveLimit = 10 }),
	}
}

func aRequest() loadbalance.Request {
	return loadbalance.Request{
		Service: orders, Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "orders", Path: "/v1/x", RawQuery: "a=b"},
		Header: http.Header{"Cookie": {"a=b; user=7; sc-lb-instance-id=192.0.2.1:7"}, "Version": {"1"}, "X-Sc-Lb-Hint": {"x"}},
	}
}

func TestDR14_NoChainAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop what it is given")
	}
	for name, o := range ways() {
		t.Run(name, func(t *testing.T) {
			l := having(t, o, hundred()...)
			ctx, r := t.Context(), aRequest()
			require.Zero(t, testing.AllocsPerRun(1000, func() {
				got, err := l.ChooseFor(ctx, r)
				if err != nil {
					t.Error(err)
				}
				if got.Done != nil {
					got.Done(loadbalance.Outcome{Latency: 1000, StatusCode: 200})
				}
			}))
		})
	}
}

// A call by name allocates the outgoing request, and where calls are counted the
// body that tells its end.
func TestTransport_AllocatesThreeTimesAtMost(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop what it is given")
	}
	for name, o := range ways() {
		t.Run(name, func(t *testing.T) {
			answer := &http.Response{StatusCode: http.StatusOK}
			body := &testBody{}
			rt := loadbalance.NewTransport(having(t, o, hundred()...), base(func(*http.Request) (*http.Response, error) {
				answer.Body = body
				return answer, nil
			}), loadbalance.TransportOptions{})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/v1/a", nil)
			require.NoError(t, err)
			require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
			}), 3.0)
		})
	}
}

// BenchmarkWays chooses among 100 instances and ends the call.
func BenchmarkWays(b *testing.B) {
	for name, o := range ways() {
		b.Run(name, func(b *testing.B) {
			l := having(b, o, hundred()...)
			ctx, r := context.Background(), aRequest()
			b.ReportAllocs()
			for b.Loop() {
				got, err := l.ChooseFor(ctx, r)
				if err != nil {
					b.Fatal(err)
				}
				if got.Done != nil {
					got.Done(loadbalance.Outcome{StatusCode: 200})
				}
			}
		})
	}
}

// BenchmarkRebuild works out a chain for a changed list.
func BenchmarkRebuild(b *testing.B) {
	for _, n := range []int{100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var list []registry.Instance
			for i := range n {
				list = append(list, registry.NewInstance(orders, "192.0.2.1", i+1))
			}
			o := with(outlier)
			l := having(b, o, list...)
			p := *o.Properties
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Reconfigure(p); err != nil {
					b.Fatal(err)
				}
				if _, err := l.Choose(context.Background(), orders); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
