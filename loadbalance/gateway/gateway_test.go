package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/loadbalance/gateway"
)

func TestDR9_GatewaySendsOnWhatFollowsTheName(t *testing.T) {
	b := backend(t, echo)
	address := b.Listener.Addr().String()
	for _, c := range []struct {
		properties gateway.Properties
		path, want string
	}{
		{only("orders"), "/orders", "/"},
		{only("orders"), "/orders/", "/"},
		{only("orders"), "/orders/7/items?a=b&c", "/7/items?a=b&c"},
		{only("orders"), "/orders/a%2Fb/c%20d?q=%2f+;x", "/a%2Fb/c%20d?q=%2f+;x"},
		{only("orders"), "/orders//x/", "//x/"},
		{only("orders"), "/%6Frders/x", "/x"},
		{only("orders"), "/orders/x?", "/x?"},
		{gateway.Properties{AllServices: true}, "/orders/x", "/x"},
		{gateway.Properties{Services: []string{"orders"}, Prefix: "/api/v1"}, "/api/v1/orders/x", "/x"},
		{gateway.Properties{Services: []string{"orders"}, KeepPrefix: true}, "/orders/a%2Fb", "/orders/a%2Fb"},
		{gateway.Properties{Services: []string{"orders"}, KeepPrefix: true, Prefix: "/api"}, "/api/orders/x", "/api/orders/x"},
		{only("SHOP@@orders"), "/SHOP@@orders/x", "/x"},
		{gateway.Properties{AllServices: true}, "/SHOP@@orders/x", "/x"},
	} {
		s := withGin(t, c.properties, at("orders", address), at("SHOP@@orders", address))
		resp, body := s.ask(t, http.MethodGet, c.path)
		require.Equal(t, http.StatusOK, resp.StatusCode, c.path)
		require.Contains(t, body, "GET "+c.want+" host="+address+"\n", c.path)
		require.NotContains(t, body, "Authorization")
	}
}

func TestGatewayLetsNothingElseThrough(t *testing.T) {
	b := backend(t, func(http.ResponseWriter, *http.Request) { t.Error("was called") })
	address := b.Listener.Addr().String()
	for _, c := range []struct {
		properties gateway.Properties
		path       string
	}{
		{gateway.DefaultProperties(), "/secret/x"},
		{only("orders"), "/secret/x"},
		{only("orders"), "/ORDERS/x"},
		{only("orders"), "/SHOP@@orders/x"},
		{only("orders"), "/"},
		{only("orders"), "//orders/x"},
		{only("orders"), "/%2e%2e/x"},
		{gateway.Properties{AllServices: true}, "/" + address + "/x"},
		{gateway.Properties{AllServices: true}, "/127.0.0.1/x"},
		{gateway.Properties{AllServices: true}, "/localhost/x"},
		{gateway.Properties{AllServices: true}, "/user%40orders/x"},
		{gateway.Properties{AllServices: true}, "/a%2Forders/x"},
		{gateway.Properties{AllServices: true}, "/nobody/x"},
		{gateway.Properties{AllServices: true}, "/@@orders/x"},
		{gateway.Properties{AllServices: true}, "/SHOP@@/x"},
		{gateway.Properties{AllServices: true, Prefix: "/api"}, "/secret/x"},
		{gateway.Properties{AllServices: true, Prefix: "/api"}, "/apisecret/x"},
	} {
		s := withGin(t, c.properties, at("secret", address), at("SHOP@@orders", address))
		resp, body := s.ask(t, http.MethodGet, c.path)
		require.Equal(t, http.StatusNotFound, resp.StatusCode, c.path)
		require.NotContains(t, body, "secret/", c.path)
	}
}

func TestDR9_GatewayWithoutInstances(t *testing.T) {
	sick := at("sick", "192.0.2.1:80")
	sick.Healthy = false
	other := at("payments", "192.0.2.1:80")
	all := gateway.Properties{AllServices: true}
	for _, c := range []struct {
		name       string
		properties gateway.Properties
		path       string
		status     int
		body       string
	}{
		{"allowed, none registered", only("orders"), "/orders/x", 503, "no instance available for orders\n"},
		{"allowed, use404", gateway.Properties{Services: []string{"orders"}, Use404: true}, "/orders/x", 404, "no instance available for orders\n"},
		{"all, nobody of that name", all, "/orders/x", 404, "no instance available for orders\n"},
		{"all, unhealthy", all, "/sick/x", 503, "no instance available for sick\n"},
		{"all, unhealthy, use404", gateway.Properties{AllServices: true, Use404: true}, "/sick/x", 404, "no instance available for sick\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withGin(t, c.properties, sick, other)
			resp, body := s.ask(t, http.MethodGet, c.path)
			require.Equal(t, c.status, resp.StatusCode)
			require.Equal(t, c.body, body, "the names of other services stay inside")
			require.Contains(t, s.log.String(), "no instance available of service")
		})
	}
}

func TestGatewayBoundsUnknownNames(t *testing.T) {
	b := backend(t, echo)
	s := withGin(t, gateway.Properties{AllServices: true}, at("orders", b.Listener.Addr().String()))
	for n := range loadbalance.MaxUnknownServices + 50 {
		resp, _ := s.ask(t, http.MethodGet, fmt.Sprintf("/name-%d/x", n))
		require.Contains(t, []int{404, 503}, resp.StatusCode)
	}
	require.LessOrEqual(t, len(s.balancer.States()), loadbalance.MaxUnknownServices)
	resp, _ := s.ask(t, http.MethodGet, "/orders/x")
	require.Equal(t, http.StatusOK, resp.StatusCode, "who is registered is served all the same")
}

func TestGatewayHeaders(t *testing.T) {
	b := backend(t, echo)
	spoofed := []func(*http.Request){
		header("X-Forwarded-For", "192.0.2.9"), header("X-Forwarded-Host", "shop.example"), header("X-Forwarded-Proto", "https"),
		header("X-Forwarded-Prefix", "/outer"), header("Forwarded", "for=192.0.2.9"),
		header("Connection", "X-Hop"), header("X-Hop", "1"), header("Keep-Alive", "1"), header("Te", "gzip"),
		header("Proxy-Authorization", "Basic x"), header("X-Kept", "yes"),
	}
	s := withGin(t, only("orders"), at("orders", b.Listener.Addr().String()))
	_, body := s.ask(t, http.MethodGet, "/orders/x", spoofed...)
	for _, line := range []string{
		"X-Forwarded-For: 127.0.0.1\r\n", "X-Forwarded-Host: " + s.Listener.Addr().String() + "\r\n",
		"X-Forwarded-Proto: http\r\n", "X-Forwarded-Prefix: /orders\r\n", "X-Kept: yes\r\n",
	} {
		require.Contains(t, body, line)
	}
	for _, text := range []string{"192.0.2.9", "shop.example", "/outer", "X-Hop", "Keep-Alive", "Te:", "Proxy-Authorization", "Connection"} {
		require.NotContains(t, body, text)
	}

	s = withGin(t, gateway.Properties{Services: []string{"orders"}, TrustForwarded: true}, at("orders", b.Listener.Addr().String()))
	_, body = s.ask(t, http.MethodGet, "/orders/x", spoofed...)
	for _, line := range []string{
		"X-Forwarded-For: 192.0.2.9, 127.0.0.1\r\n", "X-Forwarded-Host: shop.example\r\n",
		"X-Forwarded-Proto: https\r\n", "X-Forwarded-Prefix: /outer/orders\r\n", "Forwarded: for=192.0.2.9\r\n",
	} {
		require.Contains(t, body, line)
	}
	_, body = s.ask(t, http.MethodGet, "/orders/x")
	require.Contains(t, body, "X-Forwarded-Host: "+s.Listener.Addr().String()+"\r\n", "the first proxy says it")
}

func TestGatewayForgetsWhereARequestClaimsToComeFrom(t *testing.T) {
	b := backend(t, echo)
	names := []string{
		"X-Forwarded-Port", "X-Forwarded-Ssl", "X-Forwarded-Scheme", "X-Forwarded-Server", "X-Forwarded-Any",
		"X-Real-Ip", "X-Client-Ip", "True-Client-Ip",
	}
	var edits []func(*http.Request)
	for _, name := range names {
		edits = append(edits, header(name, "spoofed"))
	}
	for _, trust := range []bool{false, true} {
		s := withGin(t, gateway.Properties{Services: []string{"orders"}, TrustForwarded: trust}, at("orders", b.Listener.Addr().String()))
		_, body := s.ask(t, http.MethodGet, "/orders/x", edits...)
		for _, name := range names {
			require.Equal(t, trust, strings.Contains(body, name+": spoofed\r\n"), name)
		}
	}
}

func TestDR2_GatewayBalancesByItsCallersAddress(t *testing.T) {
	lb := loadbalance.DefaultProperties()
	lb.Algorithm, lb.HashKey = loadbalance.PolicyConsistentHash, "ip"
	name := func(n string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, n) }
	}
	one, two := backend(t, name("one")), backend(t, name("two"))
	hosts := func(trust bool) map[string]bool {
		s := open(t, gateway.Properties{Services: []string{"orders"}, TrustForwarded: trust}, lb, nil,
			at("orders", one.Listener.Addr().String()), at("orders", two.Listener.Addr().String()))
		seen := map[string]bool{}
		for n := range 40 {
			_, body := s.ask(t, http.MethodGet, "/orders/", header("X-Forwarded-For", fmt.Sprintf("192.0.2.%d", n)))
			seen[body] = true
		}
		return seen
	}
	require.Len(t, hosts(false), 1, "whatever the caller says of itself")
	require.Len(t, hosts(true), 2)
}

func TestDR8_GatewayTriesAnotherInstance(t *testing.T) {
	b := backend(t, echo)
	dead := testutil.Refusing(t).String()
	s := withGin(t, only("orders"), at("orders", b.Listener.Addr().String()), at("orders", dead))
	for range 20 {
		resp, body := s.ask(t, http.MethodPost, "/orders/x", func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader("text")) // a stream
		})
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.True(t, strings.HasSuffix(body, "\n\ntext"), body)
	}
	s.source.Set(at("orders", dead).Service, at("orders", dead))
	resp, body := s.ask(t, http.MethodGet, "/orders/x")
	require.Equal(t, http.StatusBadGateway, resp.StatusCode)
	require.Equal(t, "orders could not be called\n", body, "addresses stay inside")
	require.Contains(t, s.log.String(), dead)
}

func TestGatewayFailures(t *testing.T) {
	hanging := backend(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	lb := loadbalance.DefaultProperties()
	lb.HTTP.ResponseTimeout = 20 * time.Millisecond
	s := open(t, only("orders"), lb, nil, at("orders", hanging.Listener.Addr().String()))
	resp, body := s.ask(t, http.MethodGet, "/orders/x")
	require.Equal(t, http.StatusGatewayTimeout, resp.StatusCode)
	require.Equal(t, "orders did not answer in time\n", body)

	lb = loadbalance.DefaultProperties()
	lb.Configurations, lb.APIVersion.Required, lb.APIVersion.Header = loadbalance.StageAPIVersion, true, "Version"
	s = open(t, only("orders"), lb, nil, at("orders", hanging.Listener.Addr().String()))
	resp, body = s.ask(t, http.MethodGet, "/orders/x")
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	require.Equal(t, loadbalance.ErrAPIVersion.Error()+"\n", body)

	engine := gin.New()
	engine.Use(func(c *gin.Context) { c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, 10) })
	s = open(t, only("orders"), loadbalance.DefaultProperties(), engine, at("orders", hanging.Listener.Addr().String()))
	resp, _ = s.ask(t, http.MethodPost, "/orders/x", func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 100))), -1
	})
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)

	require.NoError(t, s.balancer.Close())
	resp, _ = s.ask(t, http.MethodGet, "/orders/x")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
}

func TestGatewayPassesOnWhatWasAnswered(t *testing.T) {
	b := backend(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "/trailers":
			w.Header().Set("Trailer", "X-Sum")
			fmt.Fprint(w, "text")
			w.Header().Set("X-Sum", "7")
		}
	})
	s := withGin(t, only("orders"), at("orders", b.Listener.Addr().String()))
	resp, body := s.ask(t, http.MethodGet, "/orders/gone")
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	require.Empty(t, body, "nobody adds words")
	s.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, _ = s.ask(t, http.MethodGet, "/orders/moved")
	require.Equal(t, http.StatusFound, resp.StatusCode)
	require.Equal(t, "/elsewhere", resp.Header.Get("Location"))
	resp, body = s.ask(t, http.MethodGet, "/orders/trailers")
	require.Equal(t, "text", body)
	require.Equal(t, "7", resp.Trailer.Get("X-Sum"))
}

func TestGatewayServesBesideOtherRoutes(t *testing.T) {
	b := backend(t, echo)
	engine := gin.New()
	engine.GET("/actuator/health", func(c *gin.Context) { c.String(http.StatusOK, "UP") })
	s := open(t, only("orders"), loadbalance.DefaultProperties(), engine, at("orders", b.Listener.Addr().String()))
	_, body := s.ask(t, http.MethodGet, "/actuator/health")
	require.Equal(t, "UP", body)
	_, body = s.ask(t, http.MethodDelete, "/orders/7")
	require.Contains(t, body, "DELETE /7 ")
}

// What the gateway has answered is no other handler's business.
func TestGatewayIsTheLastHandler(t *testing.T) {
	gate, err := gateway.New(gateway.Options{Properties: only("orders"), Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
	})})
	require.NoError(t, err)
	engine := gin.New()
	engine.GET("/*path", gate.Handle, func(*gin.Context) { t.Error("another handler was asked, too") })
	for path, want := range map[string]int{"/orders/x": http.StatusNoContent, "/stock/x": http.StatusNotFound} {
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		require.Equal(t, want, w.Code)
	}
}

// roundTripper is a transport that a test makes up.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOptionsThatCannotWork(t *testing.T) {
	_, err := gateway.New(gateway.Options{Properties: gateway.Properties{
		Prefix: "api/", Services: []string{"orders", "a/b", "a:80", "", "..", "A@@", "@@b", strings.Repeat("x", 600)},
	}})
	require.ErrorContains(t, err, "prefix: ")
	require.ErrorContains(t, err, "no transport")
	for _, name := range []string{`"a/b"`, `"a:80"`, `""`, `".."`, `"A@@"`, `"@@b"`} {
		require.ErrorContains(t, err, "services: "+name+" cannot be the name of a service")
	}
	require.NotContains(t, err.Error(), `"orders"`)
}

func TestModule_ProvidesTheGatewayOverTheGraphsClient(t *testing.T) {
	var calls int
	client := loadbalance.NewHTTPClient(roundTrip(func(r *http.Request) (*http.Response, error) {
		calls++
		require.Equal(t, "lb://orders/x", r.URL.String())
		return nil, errors.New("no matter")
	}))
	var gate *gateway.Gateway
	fxtest.New(t, fx.NopLogger, gateway.Module, fx.Supply(client, only("orders")), fx.Populate(&gate)).RequireStart().RequireStop()
	b := backend(t, gate.ServeHTTP)
	resp, err := b.Client().Get(b.URL + "/orders/x")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusBadGateway, resp.StatusCode)
	require.Equal(t, 1, calls)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
