package loadbalance_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// diary is a lifecycle that writes down what it is told.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) OnStart(r *loadbalance.Request) { d.add("start %s %s", r.Method, r.Service.Name) }

func (d *diary) OnStartRequest(_ *loadbalance.Request, i *registry.Instance) {
	d.add("request %s", i.IP)
}

func (d *diary) OnComplete(c loadbalance.Completion) {
	where := "nowhere"
	if c.Instance != nil {
		where = c.Instance.IP
	}
	d.add("complete %s %s %d", c.Status, where, c.Outcome.StatusCode)
}

func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func TestDR10_LifecycleOfACall(t *testing.T) {
	d := &diary{}
	o := with()
	o.Lifecycles, o.Policy = []loadbalance.Lifecycle{d}, &learning{}
	l := having(t, o, inst(1), inst(2))
	rt := loadbalance.NewTransport(l, &steps{answers: []any{errReset, 503}}, loadbalance.TransportOptions{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, []string{
		"start GET orders", "request 192.0.2.1", "complete FAILED 192.0.2.1 0",
		"start GET orders", "request 192.0.2.2", "complete SUCCESS 192.0.2.2 503",
	}, d.take())
	_, err = l.Choose(t.Context(), registry.ServiceID{Name: "nobody"})
	require.Error(t, err)
	require.Equal(t, []string{"start  nobody", "complete DISCARD nowhere 0"}, d.take())
	rt = loadbalance.NewTransport(l, &steps{}, loadbalance.TransportOptions{Transformers: []loadbalance.Transformer{{
		Name: "x", Transform: func(*http.Request, *registry.Instance) (*http.Request, error) { return nil, errors.New("no") },
	}}})
	_, err = rt.RoundTrip(req)
	require.Error(t, err)
	require.Equal(t, []string{"start GET orders", "request 192.0.2.1", "complete DISCARD 192.0.2.1 0"}, d.take())
}

func TestDR10_StatisticsLeaveWithTheInstance(t *testing.T) {
	s := memory.New()
	s.Set(orders, inst(1), inst(2))
	r := prometheus.NewPedanticRegistry()
	o := with(func(p *loadbalance.Properties) { p.Stats.Enabled = true })
	o.Registerer, o.Policy = r, &learning{}
	l := balancer(t, s, o)
	rt := loadbalance.NewTransport(l, &steps{answers: []any{errReset, 404}}, loadbalance.TransportOptions{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/7", nil)
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	active := func(one, two int) string {
		return strings.NewReplacer("ONE", fmt.Sprint(one), "TWO", fmt.Sprint(two)).Replace(`
# HELP loadbalancer_requests_active Calls under way, by instance.
# TYPE loadbalancer_requests_active gauge
loadbalancer_requests_active{serviceId="orders",serviceInstance_host="192.0.2.1",serviceInstance_instanceId="192.0.2.1:8080",serviceInstance_port="8080"} ONE
loadbalancer_requests_active{serviceId="orders",serviceInstance_host="192.0.2.2",serviceInstance_instanceId="192.0.2.2:8080",serviceInstance_port="8080"} TWO
`)
	}
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(active(0, 1)), "loadbalancer_requests_active"))
	require.NoError(t, resp.Body.Close())
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(active(0, 0)), "loadbalancer_requests_active"))
	families, err := r.Gather()
	require.NoError(t, err)
	got := map[string]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if name := l.GetName(); name == "method" || name == "uri" || name == "outcome" || name == "status" || name == "exception" || name == "serviceInstance_host" {
					labels = append(labels, name+"="+l.GetValue())
				}
			}
			if m.GetHistogram() != nil {
				require.Equal(t, uint64(1), m.GetHistogram().GetSampleCount())
				got[f.GetName()] = strings.Join(labels, " ")
			}
		}
	}
	require.Equal(t, map[string]string{
		"loadbalancer_requests_failed_seconds":  "exception=io method=GET serviceInstance_host=192.0.2.1 uri=UNKNOWN",
		"loadbalancer_requests_success_seconds": "method=GET outcome=CLIENT_ERROR serviceInstance_host=192.0.2.2 status=404 uri=UNKNOWN",
	}, got)

	_, err = l.Choose(t.Context(), registry.ServiceID{Name: "nobody"})
	require.Error(t, err)
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(`
# HELP loadbalancer_requests_discard_total Calls for which no instance was chosen.
# TYPE loadbalancer_requests_discard_total counter
loadbalancer_requests_discard_total{method="UNKNOWN",serviceId="nobody",uri="UNKNOWN"} 1
`), "loadbalancer_requests_discard_total"))

	late, err := l.Choose(t.Context(), orders)
	require.NoError(t, err)
	s.Set(orders, inst(3))
	_, err = l.Choose(t.Context(), orders)
	require.NoError(t, err)
	late.Done(loadbalance.Outcome{StatusCode: 200}) // to the instance that left
	for _, name := range []string{"loadbalancer_requests_success_seconds", "loadbalancer_requests_failed_seconds"} {
		n, err := testutil.GatherAndCount(r, name)
		require.NoError(t, err)
		require.Zero(t, n, name)
	}

	p := l.Properties()
	p.Stats.Enabled = false
	require.NoError(t, l.Reconfigure(p))
	n, err := testutil.GatherAndCount(r)
	require.NoError(t, err)
	require.Zero(t, n, "switched off, nothing is shown")
	p.Stats = loadbalance.StatsProperties{Enabled: true, IncludePath: true}
	require.NoError(t, l.Reconfigure(p))
	resp, err = rt.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	families, err = r.Gather()
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(families), "/7")
	require.NoError(t, l.Close())
}

// Whoever calls a gateway writes its paths. What is no text is a label all the same,
// and neither ends the call nor hides the other metrics.
func TestDR10_LabelsAreText(t *testing.T) {
	s := memory.New()
	s.Set(orders, inst(1, func(i *registry.Instance) { i.ID = "one\xff" }))
	r := prometheus.NewPedanticRegistry()
	o := with(func(p *loadbalance.Properties) {
		p.Stats = loadbalance.StatsProperties{Enabled: true, IncludePath: true}
		p.Retry.Enabled = false
	})
	o.Registerer = r
	client := loadbalance.NewHTTPClient(loadbalance.NewTransport(balancer(t, s, o), &steps{answers: []any{200, errReset}}, loadbalance.TransportOptions{}))
	resp, err := client.Get("http://orders/%ff")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	_, err = client.Get("http://orders/%ff")
	require.ErrorIs(t, err, errReset)
	_, err = client.Get("http://%ff/")
	require.ErrorIs(t, err, loadbalance.ErrNoInstance)
	for _, name := range []string{"active", "success_seconds", "failed_seconds", "discard_total"} {
		n, err := testutil.GatherAndCount(r, "loadbalancer_requests_"+name)
		require.NoError(t, err)
		require.Equal(t, 1, n, name)
	}
	s.Set(orders)
	_, err = client.Get("http://orders/")
	require.ErrorIs(t, err, loadbalance.ErrNoInstance)
	n, err := testutil.GatherAndCount(r, "loadbalancer_requests_success_seconds", "loadbalancer_requests_failed_seconds")
	require.NoError(t, err)
	require.Zero(t, n, "they leave with the instance")
}

// A series that is there twice would make all metrics of the process unreadable.
func TestDR10_OneAddressInTwoGroupsIsOneSeries(t *testing.T) {
	s := memory.New()
	other := registry.ServiceID{Group: "PROD", Name: orders.Name}
	s.Set(orders, inst(1), inst(1, in("BLUE")))
	s.Set(other, inst(1))
	r := prometheus.NewPedanticRegistry()
	o := with(func(p *loadbalance.Properties) { p.Stats.Enabled = true })
	o.Registerer = r
	l := balancer(t, s, o)
	for _, id := range []registry.ServiceID{orders, other} {
		_, err := l.Choose(t.Context(), id)
		require.NoError(t, err)
	}
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(`
# HELP loadbalancer_requests_active Calls under way, by instance.
# TYPE loadbalancer_requests_active gauge
loadbalancer_requests_active{serviceId="orders",serviceInstance_host="192.0.2.1",serviceInstance_instanceId="192.0.2.1:8080",serviceInstance_port="8080"} 2
`), "loadbalancer_requests_active"))
}
