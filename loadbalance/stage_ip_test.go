package loadbalance_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func ipType(kind string) func(*loadbalance.Properties) {
	return func(p *loadbalance.Properties) { p.IPType = kind }
}

func ip(text string) func(*registry.Instance) {
	return func(i *registry.Instance) { i.IP = text }
}

// hosts returns the hosts that 100 calls go to.
func hosts(t *testing.T, l *loadbalance.LoadBalancer) map[string]bool {
	t.Helper()
	to := map[string]bool{}
	rt := loadbalance.NewTransport(l, base(func(r *http.Request) (*http.Response, error) {
		to[r.URL.Hostname()] = true
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
	}), loadbalance.TransportOptions{})
	for range 100 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
		require.NoError(t, err)
		resp, err := rt.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	return to
}

func TestDR1_IPType(t *testing.T) {
	const six, seven = "2001:db8::6", "2001:db8::7"
	four, both := inst(4), inst(5, meta("IPv6", "["+seven+"]"))
	only6, named := inst(6, ip(six)), inst(7, ip("orders.internal"))
	all := []registry.Instance{four, both, only6, named}
	set := func(hosts ...string) map[string]bool {
		m := map[string]bool{}
		for _, h := range hosts {
			m[h] = true
		}
		return m
	}
	for _, c := range []struct {
		name, kind string
		list       []registry.Instance
		want       map[string]bool
	}{
		{"none", "", all, set(four.IP, both.IP, six, named.IP)},
		{"IPv4", "IPv4", all, set(four.IP, both.IP, named.IP)},
		{"IPv6", "IPv6", all, set(seven, six, named.IP)},
		{"in any case", "ipv6", all, set(seven, six, named.IP)},
		{"IPv4, a name alone", "IPv4", []registry.Instance{named}, set(named.IP)},
		{"IPv6 and there is none", "IPv6", []registry.Instance{four}, set(four.IP)},
		{"IPv4 and there is none", "IPv4", []registry.Instance{only6}, set(six)},
		{"IPv4 within IPv6 is IPv4", "IPv6", []registry.Instance{inst(8, ip("::ffff:192.0.2.8")), only6}, set(six)},
		{"no address in the metadata", "IPv6", []registry.Instance{inst(1, meta("IPv6", "null")), inst(2, meta("IPv6", "")), inst(3, meta("IPv6", "192.0.2.9")), inst(9, meta("IPv6", "fe80::1%eth0")), both}, set(seven)},
		{"a name with an address", "IPv6", []registry.Instance{inst(7, ip("orders.internal"), meta("IPv6", seven))}, set("orders.internal")},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, hosts(t, having(t, with(ipType(c.kind)), c.list...)))
		})
	}
	require.Equal(t, "192.0.2.5", both.IP, "a list is nobody's to change")
	t.Run("of the caller's registration", func(t *testing.T) {
		o := with()
		o.IPType = "IPv6"
		require.Equal(t, set(seven, six, named.IP), hosts(t, having(t, o, all...)))
		o = with(ipType("IPv4"))
		o.IPType = "IPv6"
		require.Equal(t, set(four.IP, both.IP, named.IP), hosts(t, having(t, o, all...)))
	})
	t.Run("before the cluster", func(t *testing.T) {
		o := with(ipType("IPv6"))
		o.Cluster = "HERE"
		near := inst(1, in("HERE"))
		require.Equal(t, set(six), hosts(t, having(t, o, near, only6)), "what cannot be reached is not near")
	})
	t.Run("for a single service, changed while it runs", func(t *testing.T) {
		p := loadbalance.DefaultProperties()
		l := having(t, loadbalance.Options{Properties: &p}, all...)
		require.Len(t, hosts(t, l), 4)
		p.Clients = map[string]map[string]any{"orders": {"ip-type": "IPv6"}}
		require.NoError(t, l.Reconfigure(p))
		require.Equal(t, set(seven, six, named.IP), hosts(t, l))
		require.Equal(t, loadbalance.IPTypeV6, l.IPType(orders))
		require.Empty(t, l.IPType(registry.ServiceID{Name: "stock"}))
		state, _ := l.State(orders)
		require.Equal(t, []string{"usable", "ip-type", "same-cluster", "retry-aware"}, state.Chain)
		addresses := map[string]bool{}
		for _, i := range state.Instances {
			addresses[i.Address] = i.EffectiveWeight > 0
		}
		require.Equal(t, map[string]bool{"192.0.2.4:8080": false, "[" + seven + "]:8080": true, "[" + six + "]:8080": true, "orders.internal:8080": true}, addresses)
	})
	p := loadbalance.DefaultProperties()
	p.IPType = "IPv5"
	require.ErrorContains(t, p.Validate(), "ip-type: must be IPv4, IPv6 or empty")
	_, err := loadbalance.New(loadbalance.Options{Discovery: having(t, loadbalance.Options{}).Discovery(), IPType: "IPv5"})
	require.ErrorContains(t, err, `"IPv5"`)
}

// What is known of an instance stays, by whatever address it is called.
func TestDR1_IPTypeKeepsWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		both := inst(5, meta("IPv6", "2001:db8::5"))
		s.Set(orders, both, inst(6, meta("IPv6", "2001:db8::6")))
		l := balancer(t, s, with(ipType("IPv6"), outlier))
		end(t, l, "2001:db8::5", 2, errRefused)
		s.Set(orders, both, inst(6, meta("IPv6", "2001:db8::6", "a", "b"))) // which says something new of the other
		end(t, l, "2001:db8::5", 1, errRefused)
		require.Equal(t, map[string]bool{"2001:db8::6": true}, hosts(t, l), "the other is ejected")
	})
}
