package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is how long a test waits for what must come, on a machine that has much else
// to do.
const soon = time.Minute

// logs is a log that tests read while it is written.
type logs = testutil.Output

// running is a server on a port of its own.
type running struct {
	t      *testing.T
	app    *autoconfig.App
	base   string
	client *http.Client
	log    *logs
}

func start(t *testing.T, opts ...fx.Option) *running {
	t.Helper()
	log := &logs{}
	app, err := autoconfig.New(append([]fx.Option{
		Module,
		autoconfig.ConfigYAML("{}"),
		autoconfig.Property("server.port", 0),
		autoconfig.Property("server.address", "127.0.0.1"),
		autoconfig.Property("nacos.storage.dir", filepath.Join(t.TempDir(), "data")),

		autoconfig.Property("server.lame-duck", "0s"),
		autoconfig.Logger(slog.New(slog.NewTextHandler(log, nil))),
	}, opts...)...)
	require.NoError(t, err)
	require.NoError(t, app.Start(context.Background()))
	client := &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       soon,
	}
	r := &running{t, app, "http://" + app.Addr().String(), client, log}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		require.NoError(t, app.Stop(context.Background())) // again, where the test did it
	})
	return r
}

// started returns the log up to the last line that the start writes.
func (r *running) started() string {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		return strings.Contains(r.log.String(), "authentication is off")
	}, soon, time.Millisecond)
	return r.log.String()
}

func (r *running) do(method, target string, body io.Reader) (int, string) {
	r.t.Helper()
	status, text, err := r.try(method, target, body)
	require.NoError(r.t, err)
	return status, text
}

func (r *running) try(method, target string, body io.Reader) (int, string, error) {
	req, err := http.NewRequest(method, r.base+target, body)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("User-Agent", "Nacos-Java-Client:v1.4.1")
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func TestModule_AClientsDay(t *testing.T) {
	r := start(t)
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer func() { _ = udp.Close() }()
	list := fmt.Sprintf("/nacos/v1/ns/instance/list?serviceName=orders&clientIP=127.0.0.1&udpPort=%d", udp.LocalAddr().(*net.UDPAddr).Port)
	pushed := func() wire.ServiceList {
		t.Helper()
		buf := make([]byte, 1<<16)
		require.NoError(t, udp.SetReadDeadline(time.Now().Add(soon)))
		n, from, err := udp.ReadFromUDPAddrPort(buf)
		require.NoError(t, err)
		p, err := wire.DecodePush(buf[:n])
		require.NoError(t, err)
		_, err = udp.WriteToUDPAddrPort(wire.Ack{Type: wire.AckPush, LastRefTime: p.LastRefTime}.Encode(), from)
		require.NoError(t, err)
		var l wire.ServiceList
		require.NoError(t, json.Unmarshal([]byte(p.Data), &l))
		return l
	}

	status, body := r.do("GET", list, nil)
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"name":"DEFAULT_GROUP@@orders","clusters":"","cacheMillis":10000,"hosts":[]}`, body)

	// As upstream's own tests do: two slashes, everything in the query.
	status, body = r.do("POST", "//nacos/v1/ns/instance?serviceName=orders&ip=192.0.2.7&port=8080", nil)
	require.Equal(t, "200 ok", fmt.Sprint(status, " ", body))
	require.Len(t, pushed().Hosts, 1)

	status, body = r.do("PUT", "/nacos/v1/ns/instance/beat", strings.NewReader(`serviceName=orders&beat={"ip":"192.0.2.7","port":8080}`))
	require.Equal(t, `200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, fmt.Sprint(status, " ", body))

	status, body = r.do("GET", "/nacos/v1/ns/service/subscribers?serviceName=orders", nil)
	require.Equal(t, 200, status)
	require.Contains(t, body, `"count":1`)

	status, body = r.do("DELETE", "/nacos/v1/ns/instance?serviceName=orders&ip=192.0.2.7&port=8080", nil)
	require.Equal(t, "200 ok", fmt.Sprint(status, " ", body))
	require.Empty(t, pushed().Hosts)

	status, body = r.do("GET", "/nacos/v1/ns/nothing", nil)
	require.Equal(t, 501, status)
	require.Contains(t, body, `"message":"no such api:GET:/nacos/v1/ns/nothing"`)
	status, body = r.do("GET", "/nacos/actuator/health", nil)
	require.Equal(t, 200, status, body)
}

func TestModule_SaysWhatItIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "here")
	r := start(t, autoconfig.Property("nacos.storage.dir", dir))
	text := r.started()
	require.Contains(t, text, `msg="registry serves" url=`+r.base+`/nacos data=`+dir+` version=`)
	require.NotContains(t, text, "memory")

	r = start(t, autoconfig.Property("nacos.storage.in-memory", true))
	text = r.started()
	require.Contains(t, text, `data=memory`)
	require.Contains(t, text, "held in memory only")
}

func TestModule_RootContextPath(t *testing.T) {
	r := start(t, autoconfig.Property("server.context-path", "/"))
	status, body := r.do("GET", "/v1/console/health/readiness", nil)
	require.Equal(t, "200 OK", fmt.Sprint(status, " ", body))
}

func TestSB23_RequestsAreNotLogged(t *testing.T) {
	r := start(t)
	before := r.started()
	for i := range 300 {
		status, _ := r.do("POST", fmt.Sprint("/nacos/v1/ns/instance?serviceName=s&ip=300.1.1.1&port=", i), nil)
		require.Equal(t, 400, status)
		status, _ = r.do("PUT", "/nacos/v1/ns/instance/beat?serviceName=s&ip=192.0.2.7&port=80", nil)
		require.Equal(t, 200, status)
	}
	for line := range strings.Lines(strings.TrimPrefix(r.log.String(), before)) {
		require.Contains(t, line, "the process stood still", "which is all that a slow machine adds")
	}
}

// TestSB24_NotReadyWhileRequestsFinish holds a request while the server stops:
// new connections are refused, the readiness is gone, the request is answered.
func TestSB24_NotReadyWhileRequestsFinish(t *testing.T) {
	var engine *gin.Engine
	begun, release := make(chan struct{}), make(chan struct{})
	r := start(t, fx.Populate(&engine), fx.Invoke(func(e *gin.Engine) {
		e.GET("/hold", func(c *gin.Context) {
			close(begun)
			<-release
			c.String(http.StatusOK, "held")
		})
	}))
	readiness := func() int {
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequest("GET", "/v1/console/health/readiness", http.NoBody))
		return w.Code
	}
	require.Equal(t, 200, readiness())
	answered := make(chan string)
	go func() {
		resp, err := r.client.Get(r.base + "/nacos/hold")
		if err != nil {
			answered <- err.Error()
			return
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		answered <- fmt.Sprint(string(text), err)
	}()
	<-begun
	stopped := make(chan error)
	go func() { stopped <- r.app.Stop(context.Background()) }()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, soon, time.Millisecond)
	require.Equal(t, 503, readiness())
	close(release)
	require.Equal(t, "held<nil>", <-answered)
	require.NoError(t, <-stopped)
}

func TestModule_NeedsAWebServer(t *testing.T) {
	_, err := autoconfig.New(Module, autoconfig.ConfigYAML("{}"), autoconfig.Property("server.port", -1))
	require.ErrorContains(t, err, "a registry needs its web server")
}

func TestCheck_AuthenticationLeavesNoActuatorOpen(t *testing.T) {
	for name, test := range map[string]struct {
		exposure string
		open     bool // authentication is off
		own      autoconfig.ManagementServerProperties
		refused  string
	}{
		"probes and scrapers":       {exposure: "health prometheus", own: autoconfig.ManagementServerProperties{Port: -1}},
		"no authentication":         {exposure: "*", open: true, own: autoconfig.ManagementServerProperties{Port: -1}},
		"everything":                {exposure: "*", own: autoconfig.ManagementServerProperties{Port: -1}, refused: `"serviceregistry" asks nobody`},
		"levels":                    {exposure: "health loggers", own: autoconfig.ManagementServerProperties{Port: -1}, refused: `"loggers" asks nobody`},
		"settings":                  {exposure: "configprops", own: autoconfig.ManagementServerProperties{Port: -1}, refused: `"configprops" asks nobody`},
		"on this machine":           {exposure: "*", own: autoconfig.ManagementServerProperties{Address: "127.0.0.1"}},
		"on this machine, IPv6":     {exposure: "*", own: autoconfig.ManagementServerProperties{Port: 9, Address: "::1"}},
		"the web server's port":     {exposure: "*", own: autoconfig.ManagementServerProperties{Port: 8848, Address: "127.0.0.1"}, refused: "asks nobody"},
		"a server for all":          {exposure: "*", own: autoconfig.ManagementServerProperties{Port: 9}, refused: "asks nobody"},
		"a server for the network":  {exposure: "*", own: autoconfig.ManagementServerProperties{Port: 9, Address: "192.0.2.1"}, refused: "asks nobody"},
		"an address without a port": {exposure: "*", own: autoconfig.ManagementServerProperties{Port: -1, Address: "127.0.0.1"}, refused: "asks nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			web, management, p := autoconfig.DefaultServerProperties(), autoconfig.DefaultManagementProperties(), DefaultProperties()
			web.Port, p.Core.Auth.Enabled = 8848, !test.open
			management.Endpoints.Exposure, management.Server = strings.Fields(test.exposure), test.own
			err := Check(web, management, DefaultAdminProperties(), p)
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.refused)
		})
	}
}

func TestURL(t *testing.T) {
	for want, test := range map[string]struct{ addr, path string }{
		"http://127.0.0.1:8848/nacos": {"0.0.0.0:8848", "/nacos"},
		"http://127.0.0.1:8848":       {"[::]:8848", "/"},
		"http://[::1]:80/a/b":         {"[::1]:80", "a/b/"},
	} {
		addr, err := net.ResolveTCPAddr("tcp", test.addr)
		require.NoError(t, err)
		got := baseURL(addr, test.path)
		require.Equal(t, want, got)
		_, err = url.Parse(got)
		require.NoError(t, err)
	}
}
