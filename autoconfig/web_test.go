package autoconfig

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/internal/httpserver"
	"github.com/rollcall-go/rollcall/internal/testutil"
)

func echoPath(e *gin.Engine) {
	e.GET("/echo/*rest", func(c *gin.Context) { c.String(http.StatusOK, c.Request.URL.Path) })
	e.GET("/", func(c *gin.Context) { c.String(http.StatusOK, "root") })
}

func TestStrip(t *testing.T) {
	for _, c := range []struct {
		context, path, raw, wantPath, wantRaw string
		ok                                    bool
	}{
		{"", "/a", "", "/a", "", true},
		{"", "//a", "", "/a", "", true},
		{"", "///a//b", "", "/a//b", "", true},
		{"", "/a b", "/a%20b", "/a b", "/a%20b", true},
		{"/nacos", "/nacos/v1", "", "/v1", "", true},
		{"/nacos", "//nacos//v1", "", "/v1", "", true},
		{"/nacos", "/nacos", "", "/", "", true},
		{"/nacos", "/nacos/", "", "/", "", true},
		{"/nacos", "/nacosx", "", "", "", false},
		{"/nacos", "/v1", "", "", "", false},
		{"/nacos", "/", "", "", "", false},
		{"/nacos", "/nacos/a/b", "/nacos/a%2Fb", "/a/b", "/a%2Fb", true},
		{"/nacos", "/nacos/a/b", "/na%63os/a%2Fb", "/a/b", "", true},
		{"/a/b", "/a/b/c", "", "/c", "", true},
	} {
		path, raw, ok := strip(c.context, c.path, c.raw)
		require.Equal(t, c.ok, ok, c)
		require.Equal(t, c.wantPath, path, c)
		require.Equal(t, c.wantRaw, raw, c)
	}
}

func FuzzStrip(f *testing.F) {
	f.Add("/nacos", "//nacos//v1", "/nacos/%2F")
	f.Add("", "/", "")
	f.Fuzz(func(t *testing.T, contextPath, path, raw string) {
		p := ServerProperties{ContextPath: contextPath}
		got, _, ok := strip(p.contextPath(), path, raw)
		if ok && strings.HasPrefix(path, "/") {
			require.True(t, strings.HasPrefix(got, "/") && !strings.HasPrefix(got, "//"), "%q", got)
		}
	})
}

func TestWebServer_ContextPathIsForEverything(t *testing.T) {
	for _, configured := range []string{"shop", "/shop", "/shop/"} {
		app := start(t, alone, Property("server.context-path", configured), fx.Invoke(echoPath))
		for path, want := range map[string]int{
			"/shop/echo/x": 200, "//shop//echo/x": 200, "/shop": 200, "/shop/": 200, "/shop/actuator/health": 200,
			"/echo/x": 404, "/actuator/health": 404, "/shopping": 404, "/": 404,
		} {
			status, _ := get(t, app, path)
			require.Equal(t, want, status, "%s with %s", path, configured)
		}
		_, body := get(t, app, "/shop/echo/x")
		require.Equal(t, "/echo/x", body, "handlers see paths without it")
	}
}

func TestWebServer_OutsideOfTheContextPathNoBodyIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testutil.NewListener()
		testutil.Serve(t, l, mount("/shop", http.NotFoundHandler()))
		conn, err := l.Dial(t.Context(), "tcp", "")
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Hour)))
		began := time.Now()
		_, err = io.WriteString(conn, "POST /elsewhere HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
		require.NoError(t, err)
		answer, err := io.ReadAll(conn)
		require.NoError(t, err, "the server has closed the connection")
		require.Contains(t, string(answer), "404 Not Found")
		require.Less(t, time.Since(began), 2*httpserver.HeaderTimeout)
	})
}

func TestWebServer_NeverRedirects(t *testing.T) {
	app := start(t, alone, fx.Invoke(func(e *gin.Engine) {
		e.GET("/plain", func(c *gin.Context) { c.Status(http.StatusOK) })
		e.GET("/Case/", func(c *gin.Context) { c.Status(http.StatusOK) })
	}))
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("redirected") }}
	for path, want := range map[string]int{"/plain": 200, "//plain": 200, "/plain/": 404, "/PLAIN": 404, "/Case": 404, "//evil.example/": 404} {
		status, _ := getWith(t, client, "http://"+app.Addr().String()+path)
		require.Equal(t, want, status, path)
	}
}

func TestWebServer_ServesOnAListenerThatWasGiven(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	app := start(t, alone, Listener(l), Property("server.port", 1))
	require.Equal(t, l.Addr(), app.Addr())
	status, _ := get(t, app, "/actuator/health")
	require.Equal(t, http.StatusOK, status)
}

func TestListener_MakesAWebServerWhateverThePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	app := start(t, alone, Listener(l), Property("server.port", -1))
	require.Equal(t, l.Addr(), app.Addr())
}

func TestWebServer_AFailureWhileServingEndsTheApplication(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	log, text := logTo()
	app := assembled(t, alone, Listener(l), log)
	ended := make(chan error, 1)
	go func() { ended <- app.Run(t.Context()) }()
	require.Eventually(t, func() bool { return text.count("web server listens") > 0 }, patience, time.Millisecond)
	require.NoError(t, l.Close())
	var exit *ExitError
	require.ErrorAs(t, <-ended, &exit)
	require.Equal(t, 1, exit.Code)
	require.Contains(t, text.String(), "web server ended unexpectedly")
}

func TestEngine_APanicIsA500AndALogLine(t *testing.T) {
	log, text := logTo()
	app := start(t, alone, log, fx.Invoke(func(e *gin.Engine) {
		e.GET("/panic/:id", func(*gin.Context) { panic("oh") })
		e.GET("/abort", func(*gin.Context) { panic(http.ErrAbortHandler) })
		e.GET("/half", func(c *gin.Context) { c.String(200, "half"); c.Writer.Flush(); panic("late") })
	}))
	status, _ := get(t, app, "/panic/7")
	require.Equal(t, http.StatusInternalServerError, status)
	require.Contains(t, text.String(), `msg="handler panicked"`)
	require.Contains(t, text.String(), "route=/panic/:id")
	require.Contains(t, text.String(), "web_test.go", "the stack is there")

	_, err := http.Get("http://" + app.Addr().String() + "/abort")
	require.Error(t, err)
	require.Equal(t, 1, text.count("handler panicked"), "aborting is no fault")

	resp, err := http.Get("http://" + app.Addr().String() + "/half")
	require.NoError(t, err)
	_, err = io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "half an answer must not pass for a whole one")
	require.NoError(t, resp.Body.Close())
	http.DefaultClient.CloseIdleConnections()
}

func TestEngine_RequestsAreMeasuredByRouteTemplate(t *testing.T) {
	var metrics *prometheus.Registry
	app := start(t, alone, fx.Populate(&metrics), fx.Invoke(func(e *gin.Engine) {
		e.GET("/users/:id", func(c *gin.Context) { c.Status(http.StatusTeapot) })
		e.GET("/panic", func(*gin.Context) { panic("oh") })
	}))
	for _, path := range []string{"/users/1", "/users/2", "/nowhere/3", "/panic"} {
		get(t, app, path)
	}
	req, err := http.NewRequest("BREW", "http://"+app.Addr().String()+"/users/1", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	http.DefaultClient.CloseIdleConnections()

	families, err := metrics.Gather()
	require.NoError(t, err)
	got := map[string]uint64{}
	for _, f := range families {
		if f.GetName() != "http_server_requests_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			got[strings.Join(labels, " ")] = m.GetHistogram().GetSampleCount()
		}
	}
	require.Equal(t, map[string]uint64{
		"GET 418 /users/:id": 2, "GET 404 UNKNOWN": 1, "GET 500 /panic": 1, "OTHER 404 UNKNOWN": 1,
	}, got)
}

func TestEngine_TheUsersOwnIsTakenAsItIs(t *testing.T) {
	own := gin.New()
	own.GET("/mine", func(c *gin.Context) { c.String(http.StatusOK, "mine") })
	app := start(t, alone, Engine(own), fx.Invoke(func(e *gin.Engine) {
		require.Same(t, own, e)
		e.GET("/more", func(c *gin.Context) { c.String(http.StatusOK, "more") })
	}))
	for path, want := range map[string]int{"/mine": 200, "/more": 200, "/actuator/health": 200} {
		status, _ := get(t, app, path)
		require.Equal(t, want, status, path)
	}
	require.Empty(t, own.Handlers, "no middleware was added")
}

func TestEngine_ForwardedHeadersAreNotTrusted(t *testing.T) {
	app := start(t, alone, fx.Invoke(func(e *gin.Engine) {
		e.GET("/ip", func(c *gin.Context) { c.String(http.StatusOK, c.ClientIP()) })
	}))
	req, err := http.NewRequest(http.MethodGet, "http://"+app.Addr().String()+"/ip", nil)
	require.NoError(t, err)
	req.Header.Set("X-Forwarded-For", "192.0.2.7")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	http.DefaultClient.CloseIdleConnections()
	require.Equal(t, "127.0.0.1", string(body))
}

func TestWebServer_WorksWithoutTheGraph(t *testing.T) {
	p := DefaultServerProperties()
	p.Address, p.Port = "127.0.0.1", 0
	w := NewWebServer(WebServerOptions{Properties: p, Handler: http.NotFoundHandler(), Logger: slog.New(slog.DiscardHandler)})
	require.Nil(t, w.Addr())
	require.NoError(t, w.Stop(t.Context()), "nothing to stop yet")
	require.NoError(t, w.Start(t.Context()))
	status, _ := getWith(t, &http.Client{}, "http://"+w.Addr().String()+"/")
	require.Equal(t, http.StatusNotFound, status)
	require.NoError(t, w.Stop(t.Context()))
}

func TestSB21_TheManagementServerWaitsForNoBody(t *testing.T) {
	for name, request := range map[string]string{
		"that nobody wants": "GET /actuator/health HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"to no route":       "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"of a setting": "POST /actuator/loggers/ROOT HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
			"Content-Length: 1000\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := testutil.NewListener()
				start(t, alone, everything, Listener(testutil.NewListener()), ManagementListener(l))
				conn, err := l.Dial(t.Context(), "tcp", "")
				require.NoError(t, err)
				defer func() { require.NoError(t, conn.Close()) }()
				require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Hour)))
				began := time.Now()
				_, err = io.WriteString(conn, request)
				require.NoError(t, err)
				answer, err := io.ReadAll(conn)
				require.NoError(t, err, "the server has closed the connection")
				require.Contains(t, string(answer), "HTTP/1.1 ")
				require.NotContains(t, string(answer), "tcp", "nothing of the server itself")
				require.Less(t, time.Since(began), 2*httpserver.BodyTimeout)
			})
		})
	}
}

func TestLogThrough_SeesEverythingAndEndsLast(t *testing.T) {
	var seen journal
	log := Logger(slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)))
	through := func(to slog.Handler) (slog.Handler, func()) {
		return noted{to, &seen}, func() { seen.add("end") }
	}
	t.Run("of an application that ran", func(t *testing.T) {
		app := start(t, alone, log, LogThrough(through), fx.Invoke(func(lc fx.Lifecycle, loggers *Loggers) {
			lc.Append(fx.StopHook(func() { loggers.Logger("mine").Warn("stopping") }))
		}))
		require.NoError(t, app.Stop(t.Context()))
		require.True(t, seen.has("web server listens"))
		require.True(t, seen.has("stopping"))
		all := seen.all()
		require.Equal(t, "end", all[len(all)-1])
	})
	t.Run("of one that cannot be built", func(t *testing.T) {
		seen = journal{}
		_, err := New(alone, log, LogThrough(through), fx.Error(errors.New("no")))
		require.Error(t, err)
		require.True(t, seen.has("end"))
	})
	t.Run("of one whose configuration is wrong", func(t *testing.T) {
		seen = journal{}
		_, err := New(alone, log, LogThrough(through), Property("server.port", -7))
		require.Error(t, err)
		require.True(t, seen.has("end"))
	})
	_, err := New(alone, LogThrough(nil))
	require.ErrorContains(t, err, "LogThrough")
}

// noted notes the messages that come through.
type noted struct {
	slog.Handler
	seen *journal
}

func (n noted) Handle(ctx context.Context, r slog.Record) error {
	n.seen.add(r.Message)
	return n.Handler.Handle(ctx, r)
}

func (n noted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return noted{n.Handler.WithAttrs(attrs), n.seen}
}

func (n noted) WithGroup(name string) slog.Handler { return noted{n.Handler.WithGroup(name), n.seen} }
