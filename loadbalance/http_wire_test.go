package loadbalance_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/loadbalance"
)

// network is a network in memory: servers by address; everything else refuses.
type network map[string]*testutil.Listener

func (n network) dial(ctx context.Context, proto, addr string) (net.Conn, error) {
	l := n[addr]
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: proto, Err: syscall.ECONNREFUSED}
	}
	return l.Dial(ctx, proto, addr)
}

func (n network) serve(t testing.TB, addr string, h http.HandlerFunc) {
	t.Helper()
	n[addr] = testutil.NewListener()
	testutil.Serve(t, n[addr], h)
}

// client calls orders at 192.0.2.1 and 192.0.2.2, in this order of attempts.
func (n network) client(t testing.TB) *loadbalance.HTTPClient {
	t.Helper()
	l := having(t, loadbalance.Options{Policy: &learning{}}, inst(1), inst(2))
	return loadbalance.NewHTTPClient(loadbalance.NewTransport(l, testutil.Transport(t, n.dial), loadbalance.TransportOptions{}))
}

// net/http's own transport closes the body of an attempt that could not be
// connected; it must be whole for the next one.
func TestWire_StreamGoesToTheNextInstanceWhenTheFirstRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{}
		n.serve(t, second, func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Host, text)
		})
		body := &testBody{text: strings.Repeat("x", 1<<16)}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://orders/", body)
		require.NoError(t, err)
		resp, err := n.client(t).Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "POST "+second+" "+body.text, string(text))
		require.Equal(t, second, resp.Request.URL.Host)
		synctest.Wait()
		require.Equal(t, 1, body.closed)
	})
}

func TestWire_ServerThatHangsUp(t *testing.T) {
	for _, c := range []struct {
		method  string
		retried bool
	}{{http.MethodPut, true}, {http.MethodPost, false}} {
		t.Run(c.method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := network{}
				n.serve(t, first, func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
					panic(http.ErrAbortHandler)
				})
				n.serve(t, second, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
				req, err := http.NewRequestWithContext(t.Context(), c.method, "lb://orders/", strings.NewReader("text"))
				require.NoError(t, err)
				resp, err := n.client(t).Do(req)
				if !c.retried {
					require.ErrorContains(t, err, "tried "+first)
					return
				}
				require.NoError(t, err)
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, "text", string(text))
			})
		})
	}
}

func TestWire_RedirectStaysByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{}
		n.serve(t, first, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/old" {
				http.Redirect(w, r, "/new?a=b", http.StatusFound)
				return
			}
			fmt.Fprint(w, r.URL)
		})
		for _, scheme := range []string{"lb", "http"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://orders/old", nil)
			require.NoError(t, err)
			resp, err := n.client(t).Do(req)
			require.NoError(t, err)
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, "/new?a=b", string(text))
		}
	})
}

func TestWire_CancelEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{}
		n.serve(t, first, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "begin")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://orders/", nil)
		require.NoError(t, err)
		resp, err := n.client(t).Do(req)
		require.NoError(t, err, "a response is handed out as it comes")
		time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
		_, err = io.ReadAll(resp.Body)
		require.Error(t, err)
		require.NoError(t, resp.Body.Close())
	})
}

func TestNewBaseTransport_GivesUpOnDeadAddressesSoon(t *testing.T) {
	tr := loadbalance.NewBaseTransport(loadbalance.BaseTransportOptions{})
	require.Equal(t, loadbalance.DefaultMaxIdleConnsPerHost, tr.MaxIdleConnsPerHost)
	require.Zero(t, tr.MaxConnsPerHost)
	require.Zero(t, tr.ResponseHeaderTimeout)
	require.Nil(t, tr.Proxy, "instances are addresses inside the network")
	tr = loadbalance.NewBaseTransport(loadbalance.BaseTransportOptions{ResponseTimeout: time.Second, MaxIdleConnsPerHost: 3, MaxConnsPerHost: 4})
	require.Equal(t, time.Second, tr.ResponseHeaderTimeout)
	require.Equal(t, 3, tr.MaxIdleConnsPerHost)
	require.Equal(t, 4, tr.MaxConnsPerHost)
}

// BenchmarkRoundTrip shows what calling by name costs on top of a direct call.
func BenchmarkRoundTrip(b *testing.B) {
	n := network{}
	n.serve(b, first, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	direct := testutil.Transport(b, n.dial)
	byName := loadbalance.NewTransport(having(b, loadbalance.Options{}, inst(1)), direct, loadbalance.TransportOptions{})
	for _, c := range []struct {
		name, url string
		rt        http.RoundTripper
	}{{"direct", "http://" + first + "/a", direct}, {"by name", "http://orders/a", byName}} {
		b.Run(c.name, func(b *testing.B) {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, c.url, nil)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				resp, err := c.rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_ = resp.Body.Close()
			}
		})
	}
}

// BenchmarkTransport is the same without a server: the way by name alone.
func BenchmarkTransport(b *testing.B) {
	answer := &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}
	rt := loadbalance.NewTransport(having(b, loadbalance.Options{}, inst(1), inst(2)), base(func(*http.Request) (*http.Response, error) {
		return answer, nil
	}), loadbalance.TransportOptions{})
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://orders/a", nil)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rt.RoundTrip(req); err != nil {
			b.Fatal(err)
		}
	}
}

// A call by name allocates the outgoing request and the address.
func TestTransport_AllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop what it is given")
	}
	answer := &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}
	rt := loadbalance.NewTransport(having(t, loadbalance.Options{}, inst(1)), base(func(*http.Request) (*http.Response, error) {
		return answer, nil
	}), loadbalance.TransportOptions{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/a", nil)
	require.NoError(t, err)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = rt.RoundTrip(req) }), 3.0)
}
