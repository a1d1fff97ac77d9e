package loadbalance_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

type timeoutError struct{}

func (timeoutError) Error() string { return "too slow" }
func (timeoutError) Timeout() bool { return true }

// steps is a base that answers each attempt with a status or an error, and with
// 200 after the last.
type steps struct {
	answers []any // int or error
	hosts   []string
	bodies  []*testBody
}

func (s *steps) RoundTrip(r *http.Request) (*http.Response, error) {
	n := len(s.hosts)
	s.hosts = append(s.hosts, r.URL.Host)
	if r.Body != nil {
		_, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	status := http.StatusOK
	if n < len(s.answers) {
		if err, ok := s.answers[n].(error); ok {
			return nil, err
		}
		status = s.answers[n].(int)
	}
	body := &testBody{text: fmt.Sprint("answer ", n)}
	s.bodies = append(s.bodies, body)
	return &http.Response{StatusCode: status, Body: body, Request: r}, nil
}

func TestDR7_KeysOfRetry(t *testing.T) {
	certificate := x509.UnknownAuthorityError{}
	for _, c := range []struct {
		name    string
		method  string
		retry   func(*loadbalance.RetryProperties)
		answers []any
		want    []string
		status  int // 0: fails
	}{
		{"off", "GET", func(r *loadbalance.RetryProperties) { r.Enabled = false }, []any{errReset}, []string{first}, 0},
		{"same instance first", "GET", func(r *loadbalance.RetryProperties) { r.MaxSame = 1 }, []any{errReset, errReset, errReset}, []string{first, first, third, third}, 200},
		{"(same+1) x (next+1)", "GET", func(r *loadbalance.RetryProperties) { r.MaxSame, r.MaxNext = 2, 0 }, []any{errReset, errReset, errReset, errReset}, []string{first, first, first}, 0},
		{"refused goes on at once", "GET", func(r *loadbalance.RetryProperties) { r.MaxSame = 1 }, []any{errRefused}, []string{first, second}, 200},
		{"refused by all: insist", "GET", func(r *loadbalance.RetryProperties) { r.MaxSame = 1 }, []any{errRefused, errRefused, errRefused}, []string{first, second, third, third}, 200},
		{"refused, POST", "POST", func(*loadbalance.RetryProperties) {}, []any{errRefused}, []string{first, second}, 200},
		{"refused, POST, not known to be harmless", "POST", func(r *loadbalance.RetryProperties) { r.OnConnectError = false }, []any{errRefused}, []string{first}, 0},
		{"refused, not known to be harmless, GET", "GET", func(r *loadbalance.RetryProperties) { r.OnConnectError = false }, []any{errRefused}, []string{first, second}, 200},
		{"POST", "POST", func(*loadbalance.RetryProperties) {}, []any{errReset}, []string{first}, 0},
		{"POST, all operations", "POST", func(r *loadbalance.RetryProperties) { r.OnAllOperations = true }, []any{errReset}, []string{first, second}, 200},
		{"timeout", "GET", func(*loadbalance.RetryProperties) {}, []any{timeoutError{}}, []string{first, second}, 200},
		{"timeout not named", "GET", func(r *loadbalance.RetryProperties) { r.Exceptions = []string{"io"} }, []any{timeoutError{}}, []string{first}, 0},
		{"io not named", "GET", func(r *loadbalance.RetryProperties) { r.Exceptions = []string{"timeout"} }, []any{errReset}, []string{first}, 0},
		{"none named, refused", "GET", func(r *loadbalance.RetryProperties) { r.Exceptions = nil }, []any{errRefused}, []string{first, second}, 200},
		{"certificate", "GET", func(*loadbalance.RetryProperties) {}, []any{certificate}, []string{first}, 0},
		{"certificate, all exceptions", "GET", func(r *loadbalance.RetryProperties) { r.OnAllExceptions = true }, []any{certificate}, []string{first, second}, 200},
		{"status", "GET", func(r *loadbalance.RetryProperties) { r.StatusCodes = []int{503} }, []any{503}, []string{first, second}, 200},
		{"status not named", "GET", func(r *loadbalance.RetryProperties) { r.StatusCodes = []int{503} }, []any{502}, []string{first}, 502},
		{"status, exhausted", "GET", func(r *loadbalance.RetryProperties) { r.StatusCodes = []int{503} }, []any{503, 503}, []string{first, second}, 503},
		{"status of POST", "POST", func(r *loadbalance.RetryProperties) { r.StatusCodes = []int{503} }, []any{503}, []string{first}, 503},
		{"status, same instance", "GET", func(r *loadbalance.RetryProperties) { r.StatusCodes, r.MaxSame = []int{503}, 1 }, []any{503}, []string{first, first}, 200},
		{"previous instance not avoided", "GET", func(r *loadbalance.RetryProperties) { r.AvoidPreviousInstance, r.MaxNext = false, 2 }, []any{errReset, errReset}, []string{first, first, first}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy := &learning{}
			o := with(func(p *loadbalance.Properties) { c.retry(&p.Retry) })
			o.Policy = policy
			s := &steps{answers: c.answers}
			rt := loadbalance.NewTransport(having(t, o, inst(1), inst(2), inst(3)), s, loadbalance.TransportOptions{})
			req, err := http.NewRequestWithContext(t.Context(), c.method, "http://orders/", strings.NewReader("x"))
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			require.Equal(t, c.want, s.hosts)
			if c.status == 0 {
				require.Error(t, err)
			} else {
				require.NoError(t, err)
				require.Equal(t, c.status, resp.StatusCode)
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint("answer ", len(c.want)-1), string(text), "the last response is handed out whole")
				require.NoError(t, resp.Body.Close())
			}
			for n, body := range s.bodies {
				require.Equal(t, 1, body.closed, "response %d", n)
			}
			require.False(t, policy.twice)
			require.Len(t, policy.outcomes, policy.picked)
		})
	}
}

func TestDR7_BudgetBoundsRetriesToAShareOfTheCalls(t *testing.T) {
	for percent, most := range map[int]int{20: 10 + 200, 0: 1000} {
		o := with(func(p *loadbalance.Properties) { p.Retry.BudgetPercent = percent })
		attempts := 0
		rt := loadbalance.NewTransport(having(t, o, inst(1), inst(2)), base(func(*http.Request) (*http.Response, error) {
			attempts++
			return nil, errReset
		}), loadbalance.TransportOptions{})
		for range 1000 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
			require.NoError(t, err)
			_, err = rt.RoundTrip(req)
			require.ErrorIs(t, err, errReset)
		}
		require.Equal(t, 1000+most, attempts, "%d %%", percent)
	}
}

// What calls that went well have saved up is bounded: a service that fails after a
// good week is not drowned in retries.
func TestDR7_TheBudgetSavesAHundredRetriesAtMost(t *testing.T) {
	var fails bool
	attempts := 0
	rt := loadbalance.NewTransport(having(t, with(), inst(1), inst(2)), base(func(*http.Request) (*http.Response, error) {
		attempts++
		if fails {
			return nil, errReset
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}), loadbalance.TransportOptions{})
	call := func(n int) int {
		attempts = 0
		for range n {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			require.Equal(t, fails, err != nil)
			if err == nil {
				require.NoError(t, resp.Body.Close())
			}
		}
		return attempts
	}
	require.Equal(t, 5000, call(5000))
	fails = true
	require.Equal(t, 1000+100+999/5, call(1000), "the first finds it full and saves nothing")
}

func TestDR8_UnsentAttemptsCostNoBudget(t *testing.T) {
	o := with(func(p *loadbalance.Properties) { p.Retry.BudgetPercent = 1 })
	l := having(t, o, inst(1), inst(2))
	rt := loadbalance.NewTransport(l, base(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host == first {
			return nil, errRefused
		}
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	}), loadbalance.TransportOptions{})
	for range 500 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://orders/", nil)
		require.NoError(t, err)
		resp, err := rt.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
}

func TestDR7_BackoffGrowsAndKeepsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := with(func(p *loadbalance.Properties) {
			p.Retry.MaxNext = 9
			p.Retry.Backoff = loadbalance.BackoffProperties{Enabled: true, Min: 100 * time.Millisecond, Max: 300 * time.Millisecond, Jitter: 0}
		})
		var at []time.Duration
		began := time.Now()
		l := having(t, o, inst(1), inst(2), inst(3), inst(4), inst(5))
		rt := loadbalance.NewTransport(l, base(func(*http.Request) (*http.Response, error) {
			at = append(at, time.Since(began))
			return nil, errReset
		}), loadbalance.TransportOptions{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
		require.NoError(t, err)
		_, err = rt.RoundTrip(req)
		require.ErrorIs(t, err, errReset)
		ms := time.Millisecond
		require.Equal(t, []time.Duration{0, 100 * ms, 300 * ms, 600 * ms, 900 * ms}, at)

		at, began = nil, time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 250*ms)
		defer cancel()
		_, err = rt.RoundTrip(req.WithContext(ctx))
		require.ErrorIs(t, err, errReset, "the error says why the call failed, not that there was no time")
		require.Len(t, at, 2)
		require.Equal(t, 100*ms, time.Since(began), "no pause that would outlast the call")
	})
}

func TestDR7_JitterSpreadsPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := with(func(p *loadbalance.Properties) {
			p.Retry.BudgetPercent = 0
			p.Retry.Backoff = loadbalance.BackoffProperties{Enabled: true, Min: 100 * time.Millisecond, Jitter: 0.5}
		})
		seen := map[time.Duration]bool{}
		for range 50 {
			s := &steps{answers: []any{errReset}}
			rt := loadbalance.NewTransport(having(t, o, inst(1), inst(2)), s, loadbalance.TransportOptions{})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
			require.NoError(t, err)
			began := time.Now()
			resp, err := rt.RoundTrip(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			pause := time.Since(began)
			require.GreaterOrEqual(t, pause, 50*time.Millisecond)
			require.LessOrEqual(t, pause, 150*time.Millisecond+1)
			seen[pause] = true
		}
		require.Greater(t, len(seen), 10)
	})
}

var errTransform = errors.New("no token")

func TestDR9_Transformers(t *testing.T) {
	named := inst(1)
	named.ID = "one"
	o := with(func(p *loadbalance.Properties) {
		p.XForwarded.Enabled = true
		p.StickySession.AddServiceInstanceCookie = true
	})
	var sent *http.Request
	var order []string
	step := func(name string, at int) loadbalance.Transformer {
		return loadbalance.Transformer{Name: name, Order: at, Transform: func(r *http.Request, i *registry.Instance) (*http.Request, error) {
			order = append(order, name)
			r.Header.Set("X-Instance", i.ID)
			if r.Header.Get("Fail") != "" {
				return nil, errTransform
			}
			return r, nil
		}}
	}
	rt := loadbalance.NewTransport(having(t, o, named), seen(&sent), loadbalance.TransportOptions{
		Transformers: []loadbalance.Transformer{step("c", 2), step("b", 1), step("a", 1)},
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/a", nil)
	require.NoError(t, err)
	req.Header.Set("X-Forwarded-Host", "shop.example")
	req.Header.Set("Cookie", "a=b")
	before := req.Header.Clone()
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, before, req.Header, "the caller's request is the caller's")
	require.Equal(t, []string{"a", "b", "c"}, order)
	require.Equal(t, []string{"shop.example", "orders"}, sent.Header["X-Forwarded-Host"], "added, not set")
	require.Equal(t, []string{"http"}, sent.Header["X-Forwarded-Proto"])
	require.Equal(t, "one", sent.Header.Get("X-Instance"))
	cookie, err := sent.Cookie("sc-lb-instance-id")
	require.NoError(t, err)
	require.Equal(t, "one", cookie.Value)

	req.Header.Set("Fail", "yes")
	body := &testBody{text: "x"}
	req.Body = body
	_, err = rt.RoundTrip(req)
	require.ErrorIs(t, err, errTransform)
	require.Equal(t, 1, body.closed)
}

func TestDR9_BalancedHostsLimitWhoIsAService(t *testing.T) {
	o := with(func(p *loadbalance.Properties) { p.HTTP.BalancedHosts = []string{"Orders"} })
	var sent *http.Request
	rt := loadbalance.NewTransport(having(t, o, inst(1)), seen(&sent), loadbalance.TransportOptions{})
	for raw, want := range map[string]string{"http://orders/": first, "http://stock/": "stock", "lb://orders/": first} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, raw, nil)
		require.NoError(t, err)
		resp, err := rt.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, sent.URL.Host)
	}
}

// An answer that is not handed out may have no end that anybody can wait for.
func TestDR7_FailedAnswerIsNotWaitedFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		length int64
		read   int
	}{
		{"empty", 0, 0},
		{"short", 4, 4},
		{"of unknown length", -1, 0},
		{"long", 4<<10 + 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := with(func(p *loadbalance.Properties) { p.Retry.StatusCodes = []int{503} })
			body := &testBody{text: "text"}
			if c.length == 0 {
				body.text = ""
			}
			calls := 0
			rt := loadbalance.NewTransport(having(t, o, inst(1), inst(2)), base(func(*http.Request) (*http.Response, error) {
				if calls++; calls > 1 {
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
				}
				return &http.Response{StatusCode: http.StatusServiceUnavailable, ContentLength: c.length, Body: body}, nil
			}), loadbalance.TransportOptions{})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.Equal(t, c.read, body.read)
			require.Equal(t, 1, body.closed)
		})
	}
}
