package loadbalance_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
)

// testBody is a body that can be read only once.
type testBody struct {
	mu     sync.Mutex
	text   string
	read   int
	closed int
}

func (b *testBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed > 0 {
		return 0, errors.New("read after close")
	}
	n := copy(p, b.text[b.read:])
	b.read += n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b *testBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed++
	return nil
}

// attempt is what a base saw of one attempt.
type attempt struct{ host, body string }

// script is a base that fails each attempt as written and then answers 200. Like
// net/http's it closes the body in any case, and reads it unless the connection
// failed.
type script struct {
	failures []error
	attempts []attempt
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	a := attempt{host: r.URL.Host}
	var err error
	if len(s.attempts) < len(s.failures) {
		err = s.failures[len(s.attempts)]
	}
	if r.Body != nil {
		if !errors.Is(err, syscall.ECONNREFUSED) {
			text, readErr := io.ReadAll(r.Body)
			a.body = string(text)
			err = errors.Join(err, readErr)
		}
		_ = r.Body.Close()
	}
	s.attempts = append(s.attempts, a)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("answer")), Request: r}, nil
}

func (s *script) hosts() (hosts []string) {
	for _, a := range s.attempts {
		hosts = append(hosts, a.host)
	}
	return hosts
}

const (
	first  = "192.0.2.1:8080"
	second = "192.0.2.2:8080"
	third  = "192.0.2.3:8080"
)

func TestDR7_DR8_WhatIsRetried(t *testing.T) {
	on := loadbalance.TransportOptions{}
	for _, c := range []struct {
		name     string
		method   string
		header   string
		options  loadbalance.TransportOptions
		failures []error
		want     []string
		failed   error
	}{
		{"nothing failed", "GET", "", on, nil, []string{first}, nil},
		{"refused GET", "GET", "", on, []error{errRefused}, []string{first, second}, nil},
		{"refused POST", "POST", "", on, []error{errRefused}, []string{first, second}, nil},
		{"reset GET", "GET", "", on, []error{errReset}, []string{first, second}, nil},
		{"reset PUT", "PUT", "", on, []error{errReset}, []string{first, second}, nil},
		{"reset DELETE", "DELETE", "", on, []error{errReset}, []string{first, second}, nil},
		{"closed GET", "GET", "", on, []error{io.EOF}, []string{first, second}, nil},
		{"reset POST", "POST", "", on, []error{errReset}, []string{first}, errReset},
		{"reset PATCH", "PATCH", "", on, []error{errReset}, []string{first}, errReset},
		{"reset POST with a key", "POST", "Idempotency-Key", on, []error{errReset}, []string{first, second}, nil},
		{"reset POST with the other key", "POST", "X-Idempotency-Key", on, []error{errReset}, []string{first, second}, nil},
		{"one further instance only", "GET", "", on, []error{errReset, errReset}, []string{first, second}, errReset},
		{"two refused", "POST", "", on, []error{errRefused, errRefused}, []string{first, second, third}, nil},
		{"refused, then sent twice", "GET", "", on, []error{errRefused, errReset}, []string{first, second, third}, nil},
		{"refused, then sent once", "POST", "", on, []error{errRefused, errReset}, []string{first, second}, errReset},
		{
			"two further instances", "GET", "",
			loadbalance.TransportOptions{MaxNextInstances: 2},
			[]error{errReset, errReset},
			[]string{first, second, third},
			nil,
		},
		{
			"more than there are", "GET", "",
			loadbalance.TransportOptions{MaxNextInstances: 9},
			[]error{errRefused, errRefused, errRefused, errRefused},
			[]string{first, second, third},
			errRefused,
		},
		{"switched off", "GET", "", loadbalance.TransportOptions{DisableRetry: true}, []error{errRefused}, []string{first}, errRefused},
		{"connect switched off, POST", "POST", "", loadbalance.TransportOptions{DisableConnectRetry: true}, []error{errRefused}, []string{first}, errRefused},
		{"connect switched off, GET", "GET", "", loadbalance.TransportOptions{DisableConnectRetry: true}, []error{errRefused}, []string{first, second}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy := &learning{}
			l := having(t, loadbalance.Options{Policy: policy}, inst(1), inst(2), inst(3))
			s := &script{failures: c.failures}
			rt := loadbalance.NewTransport(l, s, c.options)
			req, err := http.NewRequestWithContext(t.Context(), c.method, "http://orders/", nil)
			require.NoError(t, err)
			if c.header != "" {
				req.Header[c.header] = []string{"1"}
			}
			resp, err := rt.RoundTrip(req)
			require.Equal(t, c.want, s.hosts())
			if c.failed != nil {
				require.ErrorIs(t, err, c.failed)
				var failed *loadbalance.CallError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, c.want, failed.Tried)
				require.ErrorContains(t, err, "call public/DEFAULT_GROUP@@orders, tried "+strings.Join(c.want, ", ")+": ")
			} else {
				require.NoError(t, err)
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.Equal(t, "answer", string(text))
				require.NoError(t, resp.Body.Close())
			}
			policy.requireEnded(t, policy.picked)
			for n := range c.want {
				if n < len(c.failures) && c.failures[n] != nil {
					require.ErrorIs(t, policy.outcomes[n].Err, c.failures[n])
				}
			}
		})
	}
}

func TestDR8_ManyDeadAddressesAreNotAllTried(t *testing.T) {
	policy := &learning{}
	var list []registry.Instance
	for n := range 9 {
		list = append(list, inst(n))
	}
	s := &script{}
	for range list {
		s.failures = append(s.failures, errRefused)
	}
	rt := loadbalance.NewTransport(having(t, loadbalance.Options{Policy: policy}, list...), s, loadbalance.TransportOptions{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
	require.NoError(t, err)
	_, err = rt.RoundTrip(req)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.Len(t, s.attempts, 5)
	policy.requireEnded(t, 5)
}

func TestDR7_BodiesOfFurtherAttempts(t *testing.T) {
	again := func(text string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	}
	gone := func() (io.ReadCloser, error) { return nil, errors.New("gone") }
	for _, c := range []struct {
		name    string
		failure error
		getBody func() (io.ReadCloser, error)
		off     bool
		want    []attempt
	}{
		{"can be had again", errReset, again("text"), false, []attempt{{first, "text"}, {second, "text"}}},
		{"cannot be had again after all", errReset, gone, false, []attempt{{first, "text"}}},
		{"stream, not begun", errRefused, nil, false, []attempt{{first, ""}, {second, "text"}}},
		{"stream, used up", errReset, nil, false, []attempt{{first, "text"}}},
		{"stream, no retry wanted", errRefused, nil, true, []attempt{{first, ""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy := &learning{}
			l := having(t, loadbalance.Options{Policy: policy}, inst(1), inst(2))
			s := &script{failures: []error{c.failure}}
			rt := loadbalance.NewTransport(l, s, loadbalance.TransportOptions{DisableRetry: c.off})
			body := &testBody{text: "text"}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://orders/", body)
			require.NoError(t, err)
			req.GetBody = c.getBody
			resp, err := rt.RoundTrip(req)
			require.Equal(t, c.want, s.attempts)
			if len(c.want) == 2 {
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
			} else {
				require.ErrorIs(t, err, c.failure)
			}
			require.Equal(t, 1, body.closed, "the body is closed, once")
			require.Same(t, body, req.Body, "the caller's request is the caller's")
			policy.requireEnded(t, policy.picked)
		})
	}
}

func TestDR7_AttemptThatWasGivenUpNoLongerReads(t *testing.T) {
	var kept io.ReadCloser
	var second string
	rt := loadbalance.NewTransport(having(t, loadbalance.Options{Policy: &learning{}}, inst(1), inst(2)), base(func(r *http.Request) (*http.Response, error) {
		if kept == nil {
			kept = r.Body // and neither read nor closed before the return
			return nil, errRefused
		}
		_, err := kept.Read(make([]byte, 1))
		require.Error(t, err)
		require.NoError(t, kept.Close())
		text, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		second = string(text)
		return &http.Response{StatusCode: 200, Body: http.NoBody}, r.Body.Close()
	}), loadbalance.TransportOptions{})
	body := &testBody{text: "text"}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "lb://orders/", body)
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "text", second)
	require.Equal(t, 1, body.closed)
}

func TestDR7_StreamIsClosedWhenThereIsNoOtherInstance(t *testing.T) {
	policy := &learning{}
	rt := loadbalance.NewTransport(having(t, loadbalance.Options{Policy: policy}, inst(1)), &script{failures: []error{errRefused}}, loadbalance.TransportOptions{})
	body := &testBody{text: "text"}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://orders/", body)
	require.NoError(t, err)
	_, err = rt.RoundTrip(req)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.Equal(t, 1, body.closed)
	policy.requireEnded(t, 2) // the second choice was the same again
}

func TestDR7_NothingIsRetriedOnceThereIsAResponse(t *testing.T) {
	policy := &learning{}
	attempts := 0
	rt := loadbalance.NewTransport(having(t, loadbalance.Options{Policy: policy}, inst(1), inst(2)), base(func(*http.Request) (*http.Response, error) {
		attempts++
		broken := io.MultiReader(strings.NewReader("half"), errReader{errReset})
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: io.NopCloser(broken)}, nil
	}), loadbalance.TransportOptions{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	require.Empty(t, policy.outcomes, "the instance is at work until the body ends")
	text, err := io.ReadAll(resp.Body)
	require.ErrorIs(t, err, errReset)
	require.Equal(t, "half", string(text))
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 1, attempts)
	policy.requireEnded(t, 1)
	require.Equal(t, http.StatusServiceUnavailable, policy.outcomes[0].StatusCode)
	require.ErrorIs(t, policy.outcomes[0].Err, errReset)
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestDR7_ContextOfTheCallIsRespected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		rt := loadbalance.NewTransport(having(t, loadbalance.Options{Policy: &learning{}}, inst(1), inst(2)), base(func(r *http.Request) (*http.Response, error) {
			attempts++
			<-r.Context().Done()
			return nil, &net.OpError{Op: "dial", Err: r.Context().Err()}
		}), loadbalance.TransportOptions{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://orders/", nil)
		require.NoError(t, err)
		began := time.Now()
		_, err = loadbalance.NewHTTPClient(rt).Do(req)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, 1, attempts)
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())
	})
}

func TestDR9_BodyIsClosedWhenThereIsNobodyToSendTo(t *testing.T) {
	rt := loadbalance.NewTransport(having(t, loadbalance.Options{}), seen(new(*http.Request)), loadbalance.TransportOptions{})
	body := &testBody{text: "text"}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://orders/", body)
	require.NoError(t, err)
	_, err = loadbalance.NewHTTPClient(rt).Do(req)
	require.ErrorIs(t, err, loadbalance.ErrNoInstance)
	require.Equal(t, 1, body.closed)
	require.Zero(t, body.read)
}

func TestOutcome_IsToldOnceWhateverTheCallerDoes(t *testing.T) {
	for _, c := range []struct {
		name string
		body io.ReadCloser
		use  func(io.ReadCloser)
	}{
		{"read and closed", io.NopCloser(strings.NewReader("x")), func(b io.ReadCloser) { _, _ = io.ReadAll(b); _ = b.Close() }},
		{"closed early", io.NopCloser(strings.NewReader("x")), func(b io.ReadCloser) { _ = b.Close(); _ = b.Close() }},
		{"read past the end", io.NopCloser(strings.NewReader("x")), func(b io.ReadCloser) { _, _ = io.ReadAll(b); _, _ = b.Read(nil) }},
		{"no body, not closed", http.NoBody, func(io.ReadCloser) {}},
		{"switched protocol", readWriter{}, func(b io.ReadCloser) {
			_, err := b.(io.Writer).Write([]byte("x"))
			_ = err
			_ = b.Close()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy := &learning{}
			rt := loadbalance.NewTransport(having(t, loadbalance.Options{Policy: policy}, inst(1)), base(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Body: c.body}, nil
			}), loadbalance.TransportOptions{})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			require.NoError(t, err)
			c.use(resp.Body)
			policy.requireEnded(t, 1)
			require.Positive(t, policy.outcomes[0].Latency)
			policy.outcomes[0].Latency = 0
			require.Equal(t, loadbalance.Outcome{StatusCode: http.StatusOK}, policy.outcomes[0])
		})
	}
}

// A handler whose call panics is recovered by its server; the instance is not
// busy with that call for ever.
func TestOutcome_IsToldOfAPanic(t *testing.T) {
	for _, c := range []struct {
		name         string
		base         base
		transformers []loadbalance.Transformer
	}{
		{name: "of the base", base: func(*http.Request) (*http.Response, error) { panic("broken") }},
		{name: "of the base at the second attempt", base: func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Host, inst(1).IP) {
				return nil, errRefused
			}
			panic("broken")
		}},
		{name: "of a transformer", transformers: []loadbalance.Transformer{{
			Name: "broken", Transform: func(*http.Request, *registry.Instance) (*http.Request, error) { panic("broken") },
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := having(t, with(outlier, func(p *loadbalance.Properties) { p.Algorithm = loadbalance.PolicyRoundRobin }), inst(1), inst(2))
			client := loadbalance.NewHTTPClient(loadbalance.NewTransport(l, c.base, loadbalance.TransportOptions{Transformers: c.transformers}))
			for range 2 {
				require.PanicsWithValue(t, "broken", func() { _, _ = client.Get("http://orders/") })
			}
			state, _ := l.State(orders)
			for _, i := range state.Instances {
				require.Zero(t, i.Active, i.Address)
			}
		})
	}
}

// A switched protocol can be ended in one direction, where the connection can.
func TestOutcome_HalfCloseIsPassedOn(t *testing.T) {
	conn := &halfCloser{}
	for _, c := range []struct {
		body io.ReadCloser
		err  error
	}{{conn, nil}, {readWriter{}, http.ErrNotSupported}} {
		policy := &learning{}
		rt := loadbalance.NewTransport(having(t, loadbalance.Options{Policy: policy}, inst(1)), base(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: c.body}, nil
		}), loadbalance.TransportOptions{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://orders/", nil)
		require.NoError(t, err)
		resp, err := rt.RoundTrip(req)
		require.NoError(t, err)
		require.ErrorIs(t, resp.Body.(interface{ CloseWrite() error }).CloseWrite(), c.err)
		require.Empty(t, policy.outcomes)
		require.NoError(t, resp.Body.Close())
		policy.requireEnded(t, 1)
	}
	require.True(t, conn.half)
}

type halfCloser struct {
	readWriter
	half bool
}

func (c *halfCloser) CloseWrite() error {
	c.half = true
	return nil
}

type readWriter struct{}

func (readWriter) Read([]byte) (int, error)    { return 0, io.EOF }
func (readWriter) Write(p []byte) (int, error) { return len(p), nil }
func (readWriter) Close() error                { return nil }
