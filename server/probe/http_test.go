package probe

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
)

// answerHTTP accepts a connection, reads a request and writes an answer.
func answerHTTP(answer string) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = theirs.Close() }()
			if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
				_, _ = io.WriteString(theirs, answer)
			}
		}()
		return ours, nil
	}
}

// ask probes one address with a checker.
func ask(t *testing.T, c Checker, dial DialFunc, address string) verdict {
	t.Helper()
	a, err := newAsker(c)
	require.NoError(t, err)
	return a.ask(t.Context(), dial, address)
}

func TestHTTP_Answers(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		expected     int
		want         verdict
	}{
		{"200", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0, verdict{outcome: succeeded}},
		{"a body that never ends", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 1000), 0, verdict{outcome: succeeded}},
		{"old version", "HTTP/1.0 200 OK\r\n\r\n", 0, verdict{outcome: succeeded}},
		{"hints first", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 0, verdict{outcome: succeeded}},
		{"204 where it is expected", "HTTP/1.1 204 No Content\r\n\r\n", 204, verdict{outcome: succeeded}},
		{"302 where it is expected", "HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", 302, verdict{outcome: succeeded}},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n", 0, verdict{outcome: unwelcome, atOnce: true}},
		{"200 where another is expected", "HTTP/1.1 200 OK\r\n\r\n", 204, verdict{outcome: unwelcome, atOnce: true}},
		{"404", "HTTP/1.1 404 Not Found\r\n\r\n", 0, verdict{outcome: unwelcome, atOnce: true}},
		{"500", "HTTP/1.1 500 Internal Server Error\r\n\r\n", 0, verdict{outcome: unwelcome, atOnce: true}},
		{"301", "HTTP/1.1 301 Moved Permanently\r\nLocation: /x\r\n\r\n", 0, verdict{outcome: unwelcome, atOnce: true}},
		{"503 counts", "HTTP/1.1 503 Service Unavailable\r\n\r\n", 0, verdict{outcome: overloaded}},
		{"302 counts", "HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", 0, verdict{outcome: overloaded}},
		{"no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", 0, verdict{outcome: broken}},
		{"nothing", "", 0, verdict{outcome: broken}},
		{"headers without end", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 20_000), 0, verdict{outcome: broken}},
		{"hints without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 10_000), 0, verdict{outcome: broken}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				n.set(local(1), answerHTTP(tt.answer))
				require.Equal(t, tt.want, ask(t, Checker{Type: HTTP, ExpectedStatus: tt.expected}, n.dial, local(1)))
			})
		})
	}
}

// Who never comes to the end of a header is not listened to for ever, nor even
// until the time is up.
func TestHTTP_EndlessAnswer(t *testing.T) {
	for name, part := range map[string]string{
		"hints":   "HTTP/1.1 103 Early Hints\r\n\r\n",
		"headers": "X-More: header\r\n",
		"line":    "HTTP/1.1 200 OK ",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				n.set(local(1), func(context.Context) (net.Conn, error) {
					ours, theirs := net.Pipe()
					go func() {
						defer func() { _ = theirs.Close() }()
						_, _ = http.ReadRequest(bufio.NewReader(theirs))
						_, err := io.WriteString(theirs, "HTTP/1.1 103 Early Hints\r\n")
						if name == "hints" {
							_, err = io.WriteString(theirs, "\r\n")
						}
						for err == nil {
							_, err = io.WriteString(theirs, part)
						}
					}()
					return ours, nil
				})
				require.Equal(t, verdict{outcome: broken}, ask(t, Checker{Type: HTTP}, n.dial, local(1)))
			})
		})
	}
}

// Who accepts and then says nothing is waited for 500 ms more.
func TestHTTP_Silence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.set(local(1), func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			return ours, nil
		})
		begin := time.Now()
		require.Equal(t, verdict{outcome: timedOut}, ask(t, Checker{Type: HTTP}, n.dial, local(1)))
		require.Equal(t, answerTimeout, time.Since(begin))

		a, err := newAsker(Checker{Type: HTTP})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		begin = time.Now()
		require.NotEqual(t, succeeded, a.ask(ctx, n.dial, local(1)).outcome)
		require.Equal(t, time.Millisecond, time.Since(begin), "cut short")
	})
}

// A real server sees the path, the query and the headers that the checker names,
// and no other address is asked, whatever it answers.
func TestHTTP_RealServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const address, otherHost = "127.0.0.1:8001", "127.0.0.1:8002"
		var network testutil.Network
		serve := func(address string, answer http.HandlerFunc) {
			l, err := network.Listen(address)
			require.NoError(t, err)
			testutil.Serve(t, l, answer)
		}
		var elsewhere atomic.Int32
		serve(otherHost, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
		seen := make(chan *http.Request, 10)
		serve(address, func(w http.ResponseWriter, r *http.Request) {
			seen <- r
			switch r.URL.Path {
			case "/away":
				http.Redirect(w, r, "http://"+otherHost, http.StatusFound)
			case "/created":
				w.WriteHeader(http.StatusCreated)
			}
		})

		require.Equal(t, succeeded, ask(t, Checker{Type: HTTP, Path: "ok/a%2Fb?x=1&y=%20", Headers: "X-Key: a:b | Host:app.example|X-Key:c|"}, network.Dial, address).outcome)
		r := <-seen
		require.Equal(t, "/ok/a%2Fb?x=1&y=%20", r.RequestURI)
		require.Equal(t, http.MethodGet, r.Method)
		require.Equal(t, []string{"a:b", "c"}, r.Header["X-Key"])
		require.Equal(t, "app.example", r.Host)
		require.Equal(t, "rollcall-probe", r.UserAgent())

		require.Equal(t, succeeded, ask(t, Checker{Type: HTTP, Headers: "User-Agent:me"}, network.Dial, address).outcome)
		r = <-seen
		require.Equal(t, "/", r.RequestURI)
		require.Equal(t, address, r.Host)
		require.Equal(t, "me", r.UserAgent())

		require.Equal(t, succeeded, ask(t, Checker{Type: HTTP, Path: "/created", ExpectedStatus: 201}, network.Dial, address).outcome)
		require.Equal(t, overloaded, ask(t, Checker{Type: HTTP, Path: "/away"}, network.Dial, address).outcome)
		for _, path := range []string{"@" + otherHost, "//" + otherHost, "http://" + otherHost, "\\\\" + otherHost, "/../" + otherHost} {
			_ = ask(t, Checker{Type: HTTP, Path: path}, network.Dial, address)
		}
		require.Zero(t, elsewhere.Load())
	})
}

// The whole of it against real sockets: a listener that is there, one that
// closes, and a server that starts to fail.
func TestProbe_RealListeners(t *testing.T) {
	var failing atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if failing.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	web, tcp := server.Listener.Addr().(*net.TCPAddr).Port, listener.Addr().(*net.TCPAddr).Port

	quick := Interval{Max: leastInterval, Min: leastInterval}
	r := &results{}
	p, err := New(Options{
		Params: func() Params { return Params{Enabled: true, CheckTimes: 3, TCP: quick, HTTP: quick, MySQL: quick} },
		Rand:   func() float64 { return 0 },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	p.OnResult(r.take)
	require.NoError(t, p.Set(cluster1("tcp"), Checker{}, 0, []Target{unhealthy(tcp)}))
	require.NoError(t, p.Set(cluster1("web"), Checker{Type: HTTP, Path: "/"}, 0, []Target{unhealthy(web)}))
	// What was told last, as a machine that stands still for long makes a change of
	// its own.
	eventually := func(port int, want bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			told := r.healthy(port)
			return len(told) > 0 && told[len(told)-1] == want
		}, time.Minute, 5*time.Millisecond)
	}
	eventually(tcp, true)
	eventually(web, true)
	require.NoError(t, listener.Close())
	failing.Store(true)
	eventually(tcp, false)
	eventually(web, false)
	failing.Store(false)
	eventually(web, true)
}
