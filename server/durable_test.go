package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/server/state"
)

// on is a server on a data directory.
func on(t *testing.T, dir string, opts ...fx.Option) *running {
	t.Helper()
	return start(t, append(opts, autoconfig.Property("nacos.storage.dir", dir))...)
}

// stop stops a server before its test ends.
func (r *running) stop() {
	r.t.Helper()
	r.client.CloseIdleConnections()
	require.NoError(r.t, r.app.Stop(context.Background()))
}

// want sends a request and compares the whole answer, written "200 ok".
func (r *running) want(answer, method, path string, pairs ...string) {
	r.t.Helper()
	status, body := r.send(method, path, pairs...)
	require.Equal(r.t, answer, fmt.Sprint(status, " ", body), "%s %s %v", method, path, pairs)
}

func (r *running) send(method, path string, pairs ...string) (int, string) {
	r.t.Helper()
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return r.do(method, "/nacos/v1/"+path+"?"+values.Encode(), nil)
}

// hosts lists a service by address, with the health of each.
func (r *running) hosts(service string) map[string]bool {
	r.t.Helper()
	_, body := r.send("GET", "ns/instance/statuses", "key", service)
	var reply struct{ IPs []string }
	require.NoError(r.t, json.Unmarshal([]byte(body), &reply), body)
	hosts := map[string]bool{}
	for _, ip := range reply.IPs {
		address, healthy, _ := strings.Cut(ip, "_")
		hosts[address] = healthy == "true"
	}
	return hosts
}

func TestSB22_WhatWasAcknowledgedIsThereAfterARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r := on(t, dir)
	r.want("200 ok", "PUT", "ns/operator/switches", "entry", "check", "value", "false") // no probes in this test
	for i := range 20 {
		r.want("200 ok", "POST", "ns/instance", "serviceName", "ledger", "ip", "127.0.0.1", "port", fmt.Sprint(1000+i), "ephemeral", "false", "weight", "3")
	}
	r.want("200 ok", "DELETE", "ns/instance", "serviceName", "ledger", "ip", "127.0.0.1", "port", "1000", "ephemeral", "false")
	r.want("200 ok", "POST", "ns/instance", "serviceName", "orders", "ip", "192.0.2.7", "port", "80", "metadata", "a=b")
	r.want("200 ok", "POST", "ns/service", "serviceName", "planned", "protectThreshold", "0.5", "metadata", "k=v",
		"selector", `{"type":"label","expression":"CONSUMER.label.A = PROVIDER.label.A"}`)
	r.want("200 ok", "PUT", "ns/cluster", "serviceName", "planned", "clusterName", "A", "checkPort", "1", "useInstancePort4Check", "true",
		"healthChecker", `{"type":"NONE"}`)
	r.want("200 true", "POST", "console/namespaces", "customNamespaceId", "dev", "namespaceName", "Dev")
	show := func(r *running) string {
		_, list := r.send("GET", "ns/instance/list", "serviceName", "ledger")
		_, service := r.send("GET", "ns/service", "serviceName", "planned")
		_, namespaces := r.send("GET", "console/namespaces")
		_, switches := r.send("GET", "ns/operator/switches")
		_, orders := r.send("GET", "ns/instance", "serviceName", "orders", "ip", "192.0.2.7", "port", "80")
		_, after, _ := strings.Cut(list, "lastRefTime")
		before := strings.TrimSuffix(list, after)
		return before + service + namespaces + switches + orders
	}
	before := show(r)
	require.Equal(t, 19, strings.Count(before, `"port":10`))
	r.stop()

	for range 2 {
		r = on(t, dir)
		require.Equal(t, before, show(r))
		r.stop()
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s is for its owner only", path)
		return nil
	}))
}

func TestSB22_ADirectoryHasOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	on(t, dir)
	app, err := autoconfig.New(Module, autoconfig.ConfigYAML("{}"), autoconfig.Property("server.port", 0),
		autoconfig.Property("nacos.storage.dir", dir), autoconfig.Logger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	err = app.Start(context.Background())
	require.ErrorContains(t, err, "open the data directory")
	require.ErrorContains(t, err, dir)
	require.Nil(t, app.Addr(), "it never listened")
}

func TestPersistence_InMemoryLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	r := start(t, autoconfig.Property("nacos.storage.in-memory", true), autoconfig.Property("nacos.storage.dir", "x"))
	r.want("200 ok", "POST", "ns/instance", "serviceName", "s", "ip", "127.0.0.1", "port", "1", "ephemeral", "false")
	require.Len(t, r.hosts("DEFAULT_GROUP@@s"), 1)
	r.stop()
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestPersistence_EmptyServicesGo(t *testing.T) {
	r := start(t, autoconfig.ConfigYAML(`
nacos.naming.empty-service.clean.initial-delay-ms: 1
nacos.naming.empty-service.clean.period-time-ms: 1
`))
	r.want("200 ok", "POST", "ns/service", "serviceName", "planned")
	r.want("200 ok", "POST", "ns/instance", "serviceName", "kept", "ip", "127.0.0.1", "port", "1", "ephemeral", "false")
	require.Eventually(t, func() bool {
		status, _ := r.send("GET", "ns/service", "serviceName", "planned")
		return status == 404
	}, soon, 10*time.Millisecond, "five looks in a row")
	r.want("200 ok", "POST", "ns/service", "serviceName", "planned")
	require.Len(t, r.hosts("DEFAULT_GROUP@@kept"), 1)
}

// TestProbes_DecideTheHealthOfPersistentInstances has one instance behind an open
// port and one behind a closed one.
func TestProbes_DecideTheHealthOfPersistentInstances(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	open, shut := listener.Addr().String(), "127.0.0.1:1" // which is handed out to nobody
	at := func(address string) []string {
		host, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		return []string{"serviceName", "probed", "ip", host, "port", port, "ephemeral", "false"}
	}
	dir := filepath.Join(t.TempDir(), "data")
	r := on(t, dir)
	r.want("200 ok", "POST", "ns/instance", append(at(open), "healthy", "false")...)
	r.want("200 ok", "POST", "ns/instance", at(shut)...)
	verdict := func(r *running, want map[string]bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			return maps.Equal(want, r.hosts("DEFAULT_GROUP@@probed"))
		}, 2*soon, 50*time.Millisecond, "%v", want)
	}
	verdict(r, map[string]bool{open: true, shut: false})
	r.want("200 ok", "PUT", "ns/cluster", "serviceName", "probed", "clusterName", "DEFAULT", "checkPort", "1",
		"useInstancePort4Check", "true", "healthChecker", `{"type":"NONE"}`)
	r.want("200 ok", "PUT", "ns/health/instance", append(at(shut), "healthy", "true")...)
	require.Equal(t, map[string]bool{open: true, shut: true}, r.hosts("DEFAULT_GROUP@@probed"))
	r.want("200 ok", "DELETE", "ns/service", "serviceName", "probed")
}

func TestSB24_GateUntilLoaded(t *testing.T) {
	var engine *gin.Engine
	app, err := autoconfig.New(Module, autoconfig.ConfigYAML("{}"), autoconfig.Property("server.port", 0),
		autoconfig.Property("server.address", "127.0.0.1"),
		autoconfig.Property("nacos.storage.dir", filepath.Join(t.TempDir(), "data")),
		autoconfig.Logger(slog.New(slog.DiscardHandler)), fx.Populate(&engine))
	require.NoError(t, err)
	ask := func(path string) string {
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequest("GET", path, http.NoBody))
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	const list, ready, live = "/v1/ns/instance/list?serviceName=s", "/v1/console/health/readiness", "/v1/console/health/liveness"
	require.Equal(t, "503 Naming is not in readiness: the data directory is being loaded", ask(ready))
	require.Equal(t, "503 server is STARTING now, please try again later!", ask(list))
	require.Contains(t, ask("/actuator/health/readiness"), "503")
	require.Equal(t, "200 OK", ask(live))
	require.NoError(t, app.Start(context.Background()))
	require.Equal(t, "200 OK", ask(ready))
	require.True(t, strings.HasPrefix(ask(list), "200 "))
	require.True(t, strings.HasPrefix(ask("/actuator/health/readiness"), "200 "))
	require.NoError(t, app.Stop(context.Background()))
	require.Equal(t, "503 Naming is not in readiness: the server is stopping", ask(ready))
	require.Equal(t, "200 OK", ask(live))
}

// login is the answer to a login as nacos. Checking a password is so much work that
// a starved machine may not be done when the time for an answer is over.
func (r *running) login(password string) (answer string) {
	r.t.Helper()
	target := "/nacos/v1/auth/login?" + url.Values{"username": {"nacos"}, "password": {password}}.Encode()
	require.Eventually(r.t, func() bool {
		status, body, err := r.try("POST", target, nil)
		answer = fmt.Sprint(status, " ", body)
		return err == nil
	}, 5*soon, time.Millisecond)
	return answer
}

func TestSB18_FirstStartWithAuthentication(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	on1 := autoconfig.Property("nacos.core.auth.enabled", true)
	r := on(t, dir, on1)
	require.NotContains(t, r.log.String(), "authentication is off")
	require.Equal(t, "403 unknown user!", r.login("nacos"))
	status, _ := r.send("POST", "ns/instance", "serviceName", "s", "ip", "192.0.2.7", "port", "80")
	require.Equal(t, 403, status)

	path := filepath.Join(dir, "initial-password")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	password := strings.TrimSpace(string(text))
	require.NotContains(t, r.log.String(), password)
	login := func(r *running) string {
		t.Helper()
		body, found := strings.CutPrefix(r.login(password), "200 ")
		require.True(t, found, body)
		var reply struct {
			AccessToken string
			GlobalAdmin bool
		}
		require.NoError(t, json.Unmarshal([]byte(body), &reply))
		require.True(t, reply.GlobalAdmin)
		return reply.AccessToken
	}
	token := login(r)
	r.want("200 ok", "POST", "ns/instance", "serviceName", "s", "ip", "192.0.2.7", "port", "80", "accessToken", token)
	r.stop()

	require.NoError(t, os.Remove(path))
	r = on(t, dir, on1)
	r.want("200 ok", "POST", "ns/instance", "serviceName", "s", "ip", "192.0.2.8", "port", "80", "accessToken", token)
	require.NoFileExists(t, path, "there is an administrator already")
	r.stop()

	r = start(t, on1)
	status, _ = r.send("GET", "ns/instance/list", "serviceName", "s", "accessToken", token)
	require.Equal(t, 403, status, "another installation")

	r = start(t, on1, autoconfig.Property("nacos.storage.in-memory", true))
	status, _ = r.send("GET", "ns/instance/list", "serviceName", "s")
	require.Equal(t, 403, status)
	require.Eventually(t, func() bool { return strings.Contains(r.log.String(), "password-file=") }, soon, time.Millisecond)
	_, rest, _ := strings.Cut(r.log.String(), "password-file=")
	file, _, _ := strings.Cut(rest, "\n")
	require.FileExists(t, file)
	r.stop()
	require.NoFileExists(t, file)
}

// In memory the stop is clean, too, when the file was deleted as advised.
func TestAccounts_DeletedPasswordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), passwordFile)
	a := &accounts{temporary: file}
	require.NoError(t, a.stop(t.Context()))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, a.stop(t.Context()))
	require.NoFileExists(t, file)
}

func TestAccounts_NobodyIsMadeBesideOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var proposer state.Proposer
	r := on(t, dir, fx.Populate(&proposer))
	_, err := state.Propose(t.Context(), proposer, &state.CreateUser{User: state.User{Name: "ann", PasswordHash: "x"}})
	require.NoError(t, err)
	r.stop()
	_, err = state.Propose(t.Context(), proposer, &state.CreateUser{User: state.User{Name: "bob", PasswordHash: "x"}})
	require.ErrorContains(t, err, "cannot be changed at the moment")
	r = on(t, dir, autoconfig.Property("nacos.core.auth.enabled", true))
	require.Eventually(t, func() bool { return strings.Contains(r.log.String(), "no user is an administrator") }, soon, time.Millisecond)
	require.NoFileExists(t, filepath.Join(dir, "initial-password"))
}

func TestIdentity(t *testing.T) {
	r := start(t)
	_, body := r.send("GET", "core/cluster/self")
	require.Contains(t, body, `"address":"`+strings.TrimPrefix(r.base, "http://")+`"`)
	r = start(t, autoconfig.Property("nacos.inetutils.ip-address", "192.0.2.99"))
	_, body = r.send("GET", "core/cluster/self")
	require.Contains(t, body, `"ip":"192.0.2.99"`)
}
