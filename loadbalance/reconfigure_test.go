package loadbalance_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func TestReconfigure_SwapsChainsAndKeepsWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		c.set(third, 500)
		s := memory.New()
		s.Set(orders, inst(1), inst(2), inst(3), inst(4))
		l := probing(t, c, s, outlier)
		chosen(t, l)
		end(t, l, "192.0.2.1", 3, errRefused)
		time.Sleep(5 * time.Second)
		require.Equal(t, "234", used(t, l))
		p := l.Properties()
		p.Retry.MaxNext, p.Algorithm = 3, "round-robin"
		require.NoError(t, l.Reconfigure(p))
		require.Equal(t, "234", used(t, l), "the ejection stays")
		time.Sleep(5 * time.Second)
		require.Equal(t, "1234", used(t, l))
		c.take()
		time.Sleep(15 * time.Second)
		synctest.Wait()
		require.Len(t, c.take(), 4, "the probes went on in their rhythm")
		require.Equal(t, "124", used(t, l))

		p.HealthCheck.Path = map[string]string{"default": "/other"}
		require.NoError(t, l.Reconfigure(p))
		synctest.Wait()
		require.Len(t, c.take(), 4, "other probes begin at once, without a call")
		require.Equal(t, "1234", used(t, l), "with nothing known")

		p.Configurations, p.Outlier.Enabled = "default", false
		require.NoError(t, l.Reconfigure(p))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, c.take())
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		require.Nil(t, r.Done, "nobody wants to know any more")

		bad := p
		bad.Algorithm, bad.Subset.Size = "x", 0
		bad.Clients = map[string]map[string]any{"stock": {"subset": map[string]any{"size": "-1"}, "colour": 1}}
		err = l.Reconfigure(bad)
		require.ErrorContains(t, err, "cloud.loadbalancer.algorithm: ")
		require.ErrorContains(t, err, "cloud.loadbalancer.subset.size: ")
		require.ErrorContains(t, err, "cloud.loadbalancer.clients.stock.colour: there is no such key")
		require.Equal(t, p, l.Properties(), "and nothing has changed")
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Reconfigure(p), loadbalance.ErrClosed)
	})
}

func TestReconfigure_WhileCallsGoOn(t *testing.T) {
	s := memory.New()
	s.Set(orders, inst(1), inst(2), inst(3))
	o := with(outlier)
	l := balancer(t, s, o)
	defer func() { require.NoError(t, l.Close()) }()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				r, err := l.ChooseFor(context.Background(), loadbalance.Request{Service: orders, Header: http.Header{"X-Sc-Lb-Hint": {fmt.Sprint(n % 3)}}})
				if err != nil {
					t.Error(err)
					return
				}
				if r.Done != nil {
					r.Done(loadbalance.Outcome{Err: []error{nil, errRefused}[n%2], Latency: time.Millisecond})
				}
				l.States()
			}
		})
	}
	presets, algorithms := loadbalance.Presets(), []string{"p2c", "least-active", "round-robin", "weighted-round-robin", "random", ""}
	for n := range 300 {
		p := *o.Properties
		p.Configurations, p.Algorithm = presets[n%len(presets)], algorithms[n%len(algorithms)]
		p.Outlier.Enabled, p.WarmUp = n%3 > 0, time.Duration(n%2)*time.Millisecond
		p.HealthCheck.Path = map[string]string{"default": ""}
		p.Hint = map[string]string{"default": fmt.Sprint(n)}
		require.NoError(t, l.Reconfigure(p))
		s.Set(orders, inst(1), inst(2, meta("hint", "1")), inst(3+n%6))
	}
	close(stop)
	wg.Wait()
}

func TestClients_OverrideForSingleServices(t *testing.T) {
	s := memory.New()
	stock := registry.ServiceID{Name: "stock"}
	s.Set(orders, inst(1, in("N")), inst(2, in("S")))
	s.Set(stock, inst(1, in("N")), inst(2, in("S")))
	o := with(func(p *loadbalance.Properties) {
		p.Clients = map[string]map[string]any{
			"STOCK":                 {"preferSameCluster": "false", "retry": map[string]any{"enabled": "no"}},
			"default_group@@orders": {"x-forwarded.enabled": "true"},
		}
	})
	o.Cluster = "N"
	l := balancer(t, s, o)
	require.Equal(t, "1", keys(chosen(t, l)))
	seenIPs := map[string]bool{}
	for range 100 {
		r, err := l.Choose(t.Context(), stock)
		require.NoError(t, err)
		seenIPs[r.Instance.IP] = true
	}
	require.Len(t, seenIPs, 2)

	var sent *http.Request
	attempts := 0
	rt := loadbalance.NewTransport(l, base(func(r *http.Request) (*http.Response, error) {
		attempts++
		sent = r
		return nil, errReset
	}), loadbalance.TransportOptions{})
	for name, want := range map[string]int{"orders": 2, "stock": 1} {
		attempts = 0
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+name+"/", nil)
		require.NoError(t, err)
		_, err = rt.RoundTrip(req)
		require.ErrorIs(t, err, errReset)
		require.Equal(t, want, attempts, name)
		require.Equal(t, name == "orders", sent.Header.Get("X-Forwarded-Host") != "", name)
	}
}

func TestUnknownNames_AreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &countingSource{Source: memory.New()}
		late := registry.ServiceID{Name: "late"}
		l := balancer(t, s, loadbalance.Options{})
		ask := func(name string) error {
			_, err := l.Choose(t.Context(), registry.ServiceID{Name: name})
			require.ErrorIs(t, err, loadbalance.ErrNoInstance)
			return err
		}
		for n := range loadbalance.MaxUnknownServices {
			require.NotContains(t, ask(fmt.Sprint("host-", n)).Error(), "not looked up")
		}
		for n := range 100 {
			require.ErrorContains(t, ask(fmt.Sprint("more-", n)), "not looked up")
		}
		require.Len(t, l.States(), loadbalance.MaxUnknownServices)
		require.LessOrEqual(t, s.asked.Load(), int64(2), "names from outside cause no load")
		s.Set(late, inst(1))
		time.Sleep(31 * time.Second)
		_, err := l.Choose(t.Context(), late)
		require.NoError(t, err, "one that the registry lists is always taken up")
		time.Sleep(5 * time.Minute)
		require.NotContains(t, ask("another").Error(), "not looked up", "they are forgotten after a while")
		require.Len(t, l.States(), 2)
	})
}

func TestEagerLoad_AsksBeforeTheFirstCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flakySource{Source: memory.New()}
		s.Set(orders, inst(1))
		o := with(func(p *loadbalance.Properties) { p.EagerLoad.Clients = []string{"orders"} })
		l := balancer(t, s, o)
		l.EagerLoad(t.Context())
		_, ok := l.State(orders)
		require.True(t, ok)
		s.fail(errDown)
		chosen(t, l)
		p := l.Properties()
		p.EagerLoad.Clients = []string{"orders", "stock"}
		require.NoError(t, l.Reconfigure(p))
		synctest.Wait()
		require.NoError(t, l.Close())
	})
}

func TestServiceDiscoveryTimeout_BoundsTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flakySource{Source: memory.New(), hung: true}
		l := balancer(t, s, with(func(p *loadbalance.Properties) { p.ServiceDiscovery.Timeout = 2 * time.Second }))
		began := time.Now()
		_, err := l.Choose(t.Context(), orders)
		require.ErrorIs(t, err, loadbalance.ErrNoInstance)
		require.ErrorContains(t, err, "no list within service-discovery.timeout")
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

func TestRelocate_PrefersTheNewPlaceAndKeepsWhatIsKnown(t *testing.T) {
	s := memory.New()
	s.Set(orders, inst(1, in("A")), inst(2, in("B")), inst(3, in("B")))
	o := with(outlier)
	o.Properties.PreferSameCluster, o.Cluster = true, "A"
	l := balancer(t, s, o)
	require.Equal(t, "1", used(t, l))
	l.Relocate("B", "")
	require.Equal(t, "23", used(t, l))
	end(t, l, "192.0.2.2", 3, errRefused)
	require.Equal(t, "3", used(t, l))

	l.Relocate("A", "b")
	require.Equal(t, "1", used(t, l))
	p := l.Properties()
	p.Configurations, p.MinAvailable = loadbalance.StageZone, 1
	require.NoError(t, l.Reconfigure(p))
	require.Equal(t, "3", used(t, l), "the place and the ejection outlive another configuration")
	l.Relocate("A", "")
	require.Equal(t, "1", used(t, l), "no zone is the cluster")
	require.NoError(t, l.Close())
	l.Relocate("B", "")
}

func TestRelocate_WhileCallsGoOn(t *testing.T) {
	s := memory.New()
	s.Set(orders, inst(1, in("A")), inst(2, in("B")))
	o := with(outlier)
	o.Properties.PreferSameCluster = true
	l := balancer(t, s, o)
	defer func() { require.NoError(t, l.Close()) }()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := l.Choose(t.Context(), orders); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 200 {
		cluster := string(rune('A' + n%2))
		l.Relocate(cluster, "")
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		require.Equal(t, cluster, r.Instance.Cluster)
	}
	close(stop)
	wg.Wait()
}
