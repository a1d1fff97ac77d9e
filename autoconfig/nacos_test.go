package autoconfig

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/loadbalance"
)

func hello(e *gin.Engine) {
	e.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello "+c.Request.Host) })
}

func TestNacos_FromTheFileToACallByName(t *testing.T) {
	nacos := testutil.NewFakeNacos()
	nacos.RequireLogin("u", "p", time.Hour)
	server := httptest.NewServer(nacos)
	defer server.Close()
	config := ConfigYAML(quiet + "cloud.nacos: {server-addr: " + server.Listener.Addr().String() + ", username: u, password: p}\n" +
		"cloud.nacos.discovery: {namespace: test, group: G, metadata: {Zone: a}}\n")

	log, text := logTo()
	provider := start(t, config, fx.Invoke(hello), log)
	require.Contains(t, text.String(), "msg=registered registry="+server.Listener.Addr().String()+
		" registration.service=test/G@@orders registration.cluster=DEFAULT registration.address="+provider.Addr().String())
	known := nacos.Instances("test", "G@@orders")
	require.Len(t, known, 1)
	require.Equal(t, provider.Addr().(*net.TCPAddr).Port, known[0].Port)
	require.Equal(t, map[string]string{"Zone": "a", "preserved.register.source": "ROLLCALL"}, known[0].Metadata)

	var client *loadbalance.HTTPClient
	consumer := start(t, config, fx.Populate(&client),
		Property("cloud.nacos.discovery.register-enabled", false), Property("application.name", "web"))
	resp, err := client.Get("http://orders/hello")
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "hello "+provider.Addr().String(), string(body))

	status, health := get(t, consumer, "/actuator/health")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, health, `"discoveryClient":{"status":"UP","details":{"services":["orders"]}}`)
	require.Contains(t, health, `"nacosDiscovery":{"status":"UP"}`)
	require.NotContains(t, health, "registration")

	stop(t, provider)
	require.Empty(t, nacos.Instances("test", "G@@orders"))
	require.Len(t, nacos.Requests(http.MethodPost, "/auth/users/login"), 2, "one login an application")
}

func TestSimpleInstances_AreAskedInTheOrderConfigured(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "simple") }))
	defer provider.Close()
	nacos := testutil.NewFakeNacos()
	nacos.Put("public", "DEFAULT_GROUP@@users", testutil.FakeInstance{IP: "127.0.0.1", Port: 1, Healthy: true, Enabled: true, Weight: 1})
	server := httptest.NewServer(nacos)
	defer server.Close()
	for order, fails := range map[string]bool{"simple,nacos": false, "nacos,simple": true} {
		var client *loadbalance.HTTPClient
		start(t, ConfigYAML(quiet), fx.Populate(&client), Property("cloud.nacos.discovery.register-enabled", false),
			Property("cloud.nacos.server-addr", server.Listener.Addr().String()),
			Property("cloud.discovery.client.order", order),
			Property("cloud.discovery.client.simple.instances", map[string]any{"users": []any{map[string]any{"uri": provider.URL}}}))
		resp, err := client.Get("http://users/")
		require.Equal(t, fails, err != nil, "the instance in Nacos refuses, the one in the catalogue answers")
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
	}
}

// A name in the order that no source has would have no effect in silence.
func TestSourceOrder_ANameThatNoSourceHasIsToldOf(t *testing.T) {
	own := fx.Provide(fx.Annotate(func() discovery.Source { return namedSource{} }, fx.ResultTags(`group:"discovery.sources"`)))
	for order, told := range map[string]string{
		"own,simple,nacos,static": "",
		"nacso,own":               "source=nacso there-are=\"nacos, own, simple, static\"",
	} {
		logger, log := logTo()
		assembled(t, ConfigYAML(quiet), own, logger, Property("cloud.nacos.discovery.enabled", false),
			Property("cloud.discovery.client.order", order))
		if told == "" {
			require.NotContains(t, log.String(), "no such source")
			continue
		}
		require.Contains(t, log.String(), "there is no such source, its place in the order has no effect")
		require.Contains(t, log.String(), told)
	}
}

// namedSource has a name and nothing else.
type namedSource struct{ discovery.Source }

func (namedSource) Name() string { return "own" }
func (namedSource) Close() error { return nil }

func TestNacosProperties_TheInnerBlockWins(t *testing.T) {
	p := DefaultNacosProperties()
	p.Username, p.Password = "outer", "1"
	servers, key := p.servers()
	require.Equal(t, []string{"127.0.0.1:8848"}, servers)
	require.Equal(t, "cloud.nacos.server-addr", key)
	p.Discovery.ServerAddr, p.Discovery.Username, p.Discovery.Password = []string{"a"}, "inner", "2"
	servers, key = p.servers()
	require.Equal(t, []string{"a"}, servers)
	require.Equal(t, "cloud.nacos.discovery.server-addr", key)
	user, password := p.login()
	require.Equal(t, "inner2", user+password)
}

func TestLoadBalancer_KnowsWhoIsCalling(t *testing.T) {
	for name, c := range map[string]struct {
		opts []fx.Option
		want loadbalance.Options
	}{
		"defaults": {nil, loadbalance.Options{Cluster: "DEFAULT"}},
		"placed": {
			[]fx.Option{Property("cloud.nacos.discovery.cluster-name", "C"), Property("cloud.nacos.discovery.metadata.zone", "z")},
			loadbalance.Options{Cluster: "C", Zone: "z"},
		},
		"named": {[]fx.Option{Property("application.instance-id", "one")}, loadbalance.Options{Cluster: "DEFAULT", InstanceID: "one"}},
	} {
		var o loadbalance.Options
		assembled(t, append(c.opts, ConfigYAML(quiet), Backend(newFakeRegistry()), fx.Populate(&o))...)
		require.NotNil(t, o.Properties)
		o.Properties = nil
		require.Equal(t, c.want, o, name)
	}
	var o loadbalance.Options
	assembled(t, ConfigYAML(quiet), Backend(newFakeRegistry()), fx.Populate(&o), Property("server.port", 8080))
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, host+":orders:8080", o.InstanceID, "the name, once the port is known before the start")
}

func TestTLS_Files(t *testing.T) {
	off := TLSProperties{CAFile: "missing.pem"}
	c, err := off.config()
	require.NoError(t, err)
	require.Nil(t, c)

	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	c, err = (&TLSProperties{Enabled: true, CAFile: file}).config()
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c}}
	status, _ := getWith(t, client, server.URL)
	require.Equal(t, http.StatusNotFound, status)

	require.NoError(t, os.WriteFile(file, []byte("nothing"), 0o600))
	_, err = (&TLSProperties{Enabled: true, CAFile: file}).config()
	require.ErrorContains(t, err, "holds no certificate")
	_, err = (&TLSProperties{Enabled: true, CertFile: file, KeyFile: file}).config()
	require.ErrorContains(t, err, "cert-file")
}

// An address with https needs no switch for the keys that are about https.
func TestTLS_CountsWhereEveryServerNamesItsScheme(t *testing.T) {
	nacos := testutil.NewFakeNacos()
	server := httptest.NewTLSServer(nacos)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	start(t, ConfigYAML(quiet), Property("cloud.nacos.server-addr", server.URL), Property("cloud.nacos.discovery.tls.ca-file", file))
	require.Len(t, nacos.Instances("public", "DEFAULT_GROUP@@orders"), 1)

	for addresses, counts := range map[string]bool{
		"https://a": true, "https://a,http://b": true, "http://a": false, "a": false, "https://a,b": false,
	} {
		p := DefaultNacosProperties()
		p.ServerAddr, p.Discovery.TLS.CAFile = strings.Split(addresses, ","), file
		require.Equal(t, counts, p.tls().Enabled, addresses)
	}
}
