package autoconfig

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
)

// notesAbout are the notes with a text, by key: what each says besides.
func notesAbout(loaded *config.Config, text string) map[any]any {
	found := map[any]any{}
	for _, n := range loaded.Notes {
		if n.Text == text {
			found[n.Args[1]] = nil
			if len(n.Args) > 4 {
				found[n.Args[1]] = n.Args[5]
			}
		}
	}
	return found
}

func TestForeignKeys_OfSpringAreNamedWithOurs(t *testing.T) {
	_, loaded := readSettings(t, quiet+`
spring:
  main.web-application-type: none
  profiles.active: dev
  cloud:
    loadbalancer: { cache: { enabled: false } }
    discovery.client.simple.order: 1
ribbon.ReadTimeout: 5000
user-service: { ribbon: { NFLoadBalancerRuleClassName: x } }
profiles.mine: 1
logging.level: { root: info, com.example.shop: debug }
server.ssl: { enabled: false, key-store: x }
`)
	require.Equal(t, map[any]any{
		"main.web-application-type":           "server.port: -1 is none",
		"profiles.active":                     "ROLLCALL_CONFIG for another file, environment variables for single keys",
		"user-service.ribbon":                 "cloud.loadbalancer.clients",
		"logging.level.com.example.shop":      "logging.levels",
		"server.ssl.enabled":                  "server.ssl.certificate",
		"server.ssl.key-store":                "server.ssl.certificate",
		"cloud.loadbalancer.cache":            nil,
		"cloud.discovery.client.simple.order": "cloud.discovery.client.order",
		"ribbon.ReadTimeout":                  "cloud.loadbalancer",
	}, notesAbout(loaded, "configuration key of another program, it has no effect"))
}

// What means the same under another name is read as ours, and a line says so.
func TestAliases_OfSpringAreReadAsOurs(t *testing.T) {
	s, loaded := readSettings(t, `
server: { servlet: { contextPath: /shop }, port: 0, address: 127.0.0.1 }
spring:
  lifecycle.timeout-per-shutdown-phase: 7s
  cloud:
    discovery.client.health-indicator.enabled: false
    inetutils.timeout-seconds: 2
    loadbalancer.stats.micrometer.enabled: true
    nacos.discovery.graceful-shutdown-wait-time: 1500
logging.level: { root: DEBUG }
management:
  endpoints.web: { base-path: /manage, exposure: { include: "health,prometheus", exclude: prometheus } }
  server.base-path: /ops
application.name: orders
`)
	require.Equal(t, "/shop", s.server.ContextPath)
	require.Equal(t, 7*time.Second, s.server.ShutdownTimeout)
	require.False(t, s.management.Health.DiscoveryClient.Enabled)
	require.Equal(t, 2*time.Second, s.inetutils.Timeout)
	require.True(t, s.loadbalancer.Stats.Enabled)
	require.Equal(t, 1500*time.Millisecond, s.serviceRegistry.AutoRegistration.Drain)
	require.Equal(t, "DEBUG", s.logging.Level)
	require.Equal(t, "/manage", s.management.Endpoints.BasePath)
	require.Equal(t, []string{"health", "prometheus"}, s.management.Endpoints.Exposure)
	require.Equal(t, []string{"health"}, s.management.Endpoints.Exposed())
	require.Equal(t, "/ops", s.management.Server.ContextPath)
	told := notesAbout(loaded, "configuration key of another program, it is read as ours")
	require.Len(t, told, len(aliasKeys())-1, "all but one of two for one key")
	require.Equal(t, "server.context-path", told["server.servlet.context-path"])
	require.Equal(t, "cloud.service-registry.auto-registration.drain", told["cloud.nacos.discovery.graceful-shutdown-wait-time"])
	i := slices.IndexFunc(loaded.Effective(), func(e config.Effective) bool { return e.Key == "server.shutdown-timeout" })
	require.Equal(t, "ConfigYAML:4, as lifecycle.timeout-per-shutdown-phase", loaded.Effective()[i].Origin)
}

func TestAliases_FromTheEnvironmentAndCode(t *testing.T) {
	t.Setenv("CLOUD_INETUTILS_TIMEOUT_SECONDS", "3")
	t.Setenv("SERVER_SERVLET_CONTEXT_PATH", "/env")
	b := &boot{}
	b.sources.Text = quiet + "server.context-path: /file\nmetadata-of: ${management.endpoints.web.base-path}\n" +
		"cloud.nacos.discovery.metadata.base: ${management.endpoints.web.base-path}\n"
	b.sources.Properties = []config.Setting{{Key: "management.endpoints.web.base-path", Value: "/code"}}
	s, loaded, err := b.read()
	require.NoError(t, err)
	require.NoError(t, loaded.Err())
	require.Equal(t, 3*time.Second, s.inetutils.Timeout)
	require.Equal(t, "/env", s.server.ContextPath, "the environment is stronger than the document")
	require.Equal(t, "/code", s.management.Endpoints.BasePath)
	require.Equal(t, "/code", s.nacos.Discovery.Metadata["base"], "a placeholder may name either")
	origins := map[string]string{}
	for _, e := range loaded.Effective() {
		origins[e.Key] = e.Origin
	}
	require.Equal(t, "environment variable SERVER_SERVLET_CONTEXT_PATH", origins["server.context-path"])
	require.Equal(t, "property, as management.endpoints.web.base-path", origins["management.endpoints.base-path"])
	t.Setenv("SERVER_CONTEXT_PATH", "/ours")
	s, _ = readSettings(t, quiet)
	require.Equal(t, "/ours", s.server.ContextPath, "ours first")
}

func TestAliases_MistakesNameWhereTheyWereWritten(t *testing.T) {
	for text, want := range map[string]string{
		"management.endpoints.web.exposure.include: health,info":   `management.endpoints.exposure: "health,info" "info" is not an endpoint, known are health, serviceregistry, nacosdiscovery, discovery, loadbalancer, configprops, metrics, loggers, prometheus (ConfigYAML:5, as management.endpoints.web.exposure.include)`,
		"server.context-path: /a\nserver.servlet.context-path: /b": `server.context-path: "/b" is set twice, first at ConfigYAML:5 (ConfigYAML:6, as server.servlet.context-path)`,
		"cloud.inetutils.timeout-seconds: soon":                    `cloud.inetutils.timeout: "soon" must be a duration such as 500ms, 5s or 1m30s (ConfigYAML:5, as cloud.inetutils.timeout-seconds)`,
	} {
		_, err := New(ConfigYAML(quiet + text + "\n"))
		require.EqualError(t, err, want, text)
	}
}

// Every alias leads to a key, and none hides one.
func TestAliases_AreNoKeysOfOurs(t *testing.T) {
	_, loaded := readSettings(t, quiet)
	ours := map[string]bool{}
	for _, e := range loaded.Effective() {
		ours[e.Key] = true
	}
	for key, a := range aliasKeys() {
		require.False(t, ours[key], key)
		require.True(t, ours[a.Key], key)
		require.NotContains(t, foreignKeys(), key)
	}
	_, err := config.Load(config.Sources{Aliases: map[string]config.Alias{"a.b": {Key: "c.d"}}})
	require.EqualError(t, err, "a.b is to be read as c.d, which is no key of one value or list")
}
