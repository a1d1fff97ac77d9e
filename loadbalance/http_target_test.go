package loadbalance_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// base is a transport that a test makes up.
type base func(*http.Request) (*http.Response, error)

func (f base) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// seen returns a base that keeps the request it is given.
func seen(out **http.Request) base {
	return func(r *http.Request) (*http.Response, error) {
		*out = r
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
	}
}

func secure(i *registry.Instance) {
	i.Metadata = map[string]string{registry.MetadataSecure: "true"}
}

func TestDR9_URLOfTheInstance(t *testing.T) {
	for _, c := range []struct {
		name, url string
		instance  registry.Instance
		want      string
	}{
		{"plain", "http://orders/a?b=c", inst(1), "http://192.0.2.1:8080/a?b=c"},
		{"lb", "lb://orders/a", inst(1), "http://192.0.2.1:8080/a"},
		{"no path", "http://orders", inst(1), "http://192.0.2.1:8080"},
		{"secure", "http://orders/", inst(1, secure), "https://192.0.2.1:8080/"},
		{"lb, secure", "lb://orders/", inst(1, secure), "https://192.0.2.1:8080/"},
		{"https stays https", "https://orders/", inst(1), "https://192.0.2.1:8080/"},
		{"escapes stay as they are", "http://orders/a%2Fb/c%20d?q=%2B+&&x", inst(1), "http://192.0.2.1:8080/a%2Fb/c%20d?q=%2B+&&x"},
		{"empty query", "http://orders/a?", inst(1), "http://192.0.2.1:8080/a?"},
		{"IPv6", "http://orders/", inst(1, func(i *registry.Instance) { i.IP = "2001:db8::1" }), "http://[2001:db8::1]:8080/"},
		{"IPv6 without port", "http://orders/", inst(1, func(i *registry.Instance) { i.IP, i.Port = "[2001:db8::1]", 0 }), "http://[2001:db8::1]/"},
		{"without port", "http://orders/", inst(1, func(i *registry.Instance) { i.IP, i.Port = "orders.internal", 0 }), "http://orders.internal/"},
		{"credentials", "http://me:secret@orders/", inst(1), "http://me:secret@192.0.2.1:8080/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sent *http.Request
			rt := loadbalance.NewTransport(having(t, loadbalance.Options{}, c.instance), seen(&sent), loadbalance.TransportOptions{})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, c.want, sent.URL.String())
			require.Equal(t, c.url, req.URL.String(), "the caller's request is the caller's")
		})
	}
}

func TestDR9_WhoIsAService(t *testing.T) {
	s := memory.New()
	for _, name := range []string{"orders", "order_service", "com.acme.Orders", "x"} {
		s.Set(registry.ServiceID{Name: name}, inst(1))
	}
	s.Set(registry.ServiceID{Group: "PROD", Name: "orders"}, inst(2))
	l := balancer(t, s, loadbalance.Options{})
	for raw, want := range map[string]string{
		"http://orders/":                "192.0.2.1:8080",
		"http://order_service/":         "192.0.2.1:8080",
		"https://com.acme.Orders/":      "192.0.2.1:8080",
		"lb://x":                        "192.0.2.1:8080",
		"lb://PROD@@orders/":            "192.0.2.2:8080",
		"http://PROD@@orders/":          "192.0.2.2:8080",
		"http://127.0.0.1/":             "127.0.0.1",
		"http://127.0.0.1:80/":          "127.0.0.1:80",
		"http://[::1]/":                 "[::1]",
		"http://[fe80::1%25eth0]:8080/": "[fe80::1%eth0]:8080",
		"http://localhost/":             "localhost",
		"http://orders:8080/":           "orders:8080",
		"ftp://orders/":                 "orders",
	} {
		t.Run(raw, func(t *testing.T) {
			var sent *http.Request
			rt := loadbalance.NewTransport(l, seen(&sent), loadbalance.TransportOptions{})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, raw, nil)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, want, sent.URL.Host)
			if req.URL.Host == want {
				require.Same(t, req, sent, "what is not balanced goes through untouched")
			}
		})
	}
	for _, raw := range []string{"lb://127.0.0.1/", "lb://orders:8080/", "lb:///x", "lb://localhost/", "lb://[::1]/"} {
		t.Run("not "+raw, func(t *testing.T) {
			body := &testBody{}
			u, err := url.Parse(raw)
			require.NoError(t, err)
			rt := loadbalance.NewTransport(l, seen(new(*http.Request)), loadbalance.TransportOptions{})
			_, err = rt.RoundTrip((&http.Request{Method: http.MethodPost, URL: u, Body: body}).WithContext(t.Context()))
			require.ErrorContains(t, err, "does not name a service")
			require.Equal(t, 1, body.closed)
		})
	}
}

func TestDR9_HostHeader(t *testing.T) {
	for _, c := range []struct {
		name, url, host string
		preserve        bool
		want            string
	}{
		{"the instance's", "http://orders/", "orders", false, ""},
		{"unset", "http://orders/", "", false, ""},
		{"kept", "http://orders/", "orders", true, "orders"},
		{"kept though unset", "lb://orders/", "", true, "orders"},
		{"the caller's own", "http://orders/", "shop.example", false, "shop.example"},
		{"the caller's own, kept", "http://orders/", "shop.example", true, "shop.example"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sent *http.Request
			rt := loadbalance.NewTransport(having(t, loadbalance.Options{}, inst(1)), seen(&sent), loadbalance.TransportOptions{PreserveHost: c.preserve})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
			require.NoError(t, err)
			req.Host = c.host
			resp, err := rt.RoundTrip(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, c.want, sent.Host, "empty means the URL's")
			require.Equal(t, c.host, req.Host)

			o := with(func(p *loadbalance.Properties) { p.PreserveHost = c.preserve })
			resp, err = loadbalance.NewTransport(having(t, o, inst(1)), seen(&sent), loadbalance.TransportOptions{}).RoundTrip(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, c.want, sent.Host, "by the properties")
		})
	}
}

// net/http takes "GROUP@" for a user name and sends it as credentials.
func TestDR9_GroupInTheURLIsNotSent(t *testing.T) {
	s := memory.New()
	s.Set(registry.ServiceID{Group: "PROD", Name: "orders"}, inst(2))
	var sent *http.Request
	client := loadbalance.NewHTTPClient(loadbalance.NewTransport(balancer(t, s, loadbalance.Options{}), seen(&sent), loadbalance.TransportOptions{}))
	for _, authorization := range []string{"", "Bearer token"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "lb://PROD@@orders/x", nil)
		require.NoError(t, err)
		if authorization != "" {
			req.Header.Set("Authorization", authorization)
		}
		resp, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, authorization, sent.Header.Get("Authorization"))
		require.Equal(t, "http://192.0.2.2:8080/x", sent.URL.String())
	}
}
