package autoconfig

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// readSettings reads a document.
func readSettings(t *testing.T, text string) (*settings, *config.Config) {
	t.Helper()
	b := &boot{}
	b.sources.Text = text
	s, loaded, err := b.read()
	require.NoError(t, err)
	require.NoError(t, loaded.Err())
	return s, loaded
}

func TestProperties_AddressesToListenOn(t *testing.T) {
	for address, good := range map[string]bool{
		"": true, "0.0.0.0": true, "192.0.2.1": true, "::": true, "[::1]": true, "fe80::1%eth0": true, "localhost": true,
		"host.example": true, "999.1.1.1": false, "::1::": false, "not an ip": false, "host:8080": false, "http://host": false,
	} {
		web, management := DefaultServerProperties(), DefaultManagementProperties()
		web.Address, management.Server.Address = address, address
		if good {
			require.NoError(t, web.Validate(), address)
			require.NoError(t, management.Validate(), address)
			continue
		}
		require.EqualError(t, web.Validate(), "address: must be an IP address or a host name", address)
		require.EqualError(t, management.Validate(), "server.address: must be an IP address or a host name", address)
	}
}

func TestProperties_OfLookingUp(t *testing.T) {
	s, _ := readSettings(t, quiet+`
cloud.discovery.client: { order: [simple, nacos], merge: union }
cloud.nacos.discovery:
  namespace: n
  group: G
  refresh-interval: 1s
  max-back-off: 2s
  first-fetch-timeout: 3s
  failure-tolerance-enabled: false
  failure-tolerance-max-age: 4s
  naming-load-cache-at-start: true
  naming-cache-dir: /somewhere
  snapshot-max-age: 5s
  failover-enabled: true
  naming-push-empty-protection: true
  empty-protection-ttl: 6s
  heart-beat.enabled: true
  watch-delay: 7s
  watch.enabled: true
  push: { enabled: true, port: 9, advertise-ip: 192.0.2.1 }
  allow-short-beat: true
`)
	got, err := s.discoveryOptions()
	require.NoError(t, err)
	require.Equal(t, discovery.Options{
		Order: []string{"static", "nacos"}, Merge: discovery.MergeUnion, Namespace: "n", Group: "G",
		RefreshInterval: time.Second, MaxBackOff: 2 * time.Second, FirstFetchTimeout: 3 * time.Second,
		FailureTolerance: discovery.FailureTolerance{Disabled: true, MaxAge: 4 * time.Second},
		Disk:             discovery.Disk{Dir: "/somewhere", LoadAtStart: true, MaxAge: 5 * time.Second, Failover: true},
		EmptyProtection:  discovery.EmptyProtection{Enabled: true, TTL: 6 * time.Second},
		Heartbeat:        discovery.Heartbeat{Enabled: true, Delay: 7 * time.Second},
	}, got)
	require.True(t, s.nacosRegistry(nil).Watch.Enabled)
	require.True(t, s.nacosRegistry(nil).AllowShortBeat)
	push := s.nacosSource(nil).Push
	require.True(t, push.Enabled)
	require.Equal(t, 9, push.Port)
	require.Equal(t, "192.0.2.1", push.AdvertiseIP)
}

func TestProperties_ListsAreKeptInFilesOnlyForAReason(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	t.Setenv("HOME", "/home/ann")
	usual := func(addresses ...string) string {
		dir, err := discovery.DefaultDir("n", addresses...)
		require.NoError(t, err)
		return dir
	}
	for text, want := range map[string]string{
		"": "", "naming-load-cache-at-start: true": usual("127.0.0.1:8848"), "failover-enabled: true": usual("127.0.0.1:8848"),
		"failover-enabled: true, server-addr: 'b,a'": usual("a", "b"), "failover-enabled: true, endpoint: a": usual("a", "8080"),
		"naming-cache-dir: /mine": "/mine",
	} {
		s, _ := readSettings(t, quiet+"cloud.nacos.discovery.namespace: n\ncloud.nacos.discovery: { "+text+" }\n")
		disk, err := s.disk()
		require.NoError(t, err)
		require.Equal(t, want, disk.Dir, text)
	}
}

func TestProperties_OfTheRegistrysClient(t *testing.T) {
	s, _ := readSettings(t, quiet+`
cloud.nacos: { server-addr: "a:1,b:2", username: outer, password: o }
cloud.nacos.discovery:
  access-key: ak
  secret-key: sk
  server-list-refresh-interval: 1s
  connect-timeout: 2s
  request-timeout: 3s
  naming-request-domain-max-retry-count: 4
  context-path: /x
  namespace: n
`)
	got, err := s.nacosClient()
	require.NoError(t, err)
	want := nacosclient.Options{
		Servers: []string{"a:1", "b:2"}, EndpointPort: 8080, ServerListRefresh: time.Second, ContextPath: "/x", Namespace: "n",
		Username: "outer", Password: "o", AccessKey: "ak", SecretKey: "sk",
		ConnectTimeout: 2 * time.Second, RequestTimeout: 3 * time.Second, MaxRetries: 4, AppName: "orders",
	}
	require.Equal(t, want, got)
	require.Equal(t, "a:1,b:2", s.nacos.describe())

	s, _ = readSettings(t, quiet+"cloud.nacos.discovery: { endpoint: addresses, endpoint-port: 81 }\n")
	got, err = s.nacosClient()
	require.NoError(t, err)
	require.Equal(t, "addresses", got.Endpoint)
	require.Equal(t, 81, got.EndpointPort)
	require.Empty(t, got.Servers, "the address server says")
	require.Equal(t, "addresses", s.nacos.describe())
}

func TestProperties_UsernameAndPasswordCountEachForItself(t *testing.T) {
	for text, want := range map[string][2]string{
		"cloud.nacos: {username: u, password: p}\n":                                        {"u", "p"},
		"cloud.nacos: {username: u, discovery: {password: q}}\n":                           {"u", "q"},
		"cloud.nacos: {username: u, password: p, discovery: {password: q}}\n":              {"u", "q"},
		"cloud.nacos: {username: u, password: p, discovery: {username: v}}\n":              {"v", "p"},
		"cloud.nacos: {password: p, discovery: {username: v}}\n":                           {"v", "p"},
		"cloud.nacos: {username: u, password: p, discovery: {username: v, password: q}}\n": {"v", "q"},
	} {
		s, _ := readSettings(t, quiet+text)
		got, err := s.nacosClient()
		require.NoError(t, err)
		require.Equal(t, want, [2]string{got.Username, got.Password}, text)
	}
}

func TestProperties_OfSingleServices(t *testing.T) {
	s, _ := readSettings(t, quiet+`
cloud.loadbalancer:
  retry.max-retries-on-next-service-instance: 3
  clients:
    User-Service: { algorithm: random, retry: { enabled: no }, hint: { Default: Blue } }
    com.example.Bills:
      http.response-timeout: 2s
cloud.loadbalancer.clients.com.example.Orders.health-check.interval: 5s
cloud.loadbalancer.clients.User-Service.warm-up: 1s
`)
	p := s.loadbalancer
	for name, check := range map[string]func(loadbalance.Properties){
		"user-service": func(p loadbalance.Properties) {
			require.Equal(t, "random", p.Algorithm)
			require.False(t, p.Retry.Enabled)
			require.Equal(t, map[string]string{"Default": "Blue"}, p.Hint)
			require.Equal(t, time.Second, p.WarmUp)
			require.Equal(t, 3, p.Retry.MaxNext, "the common value")
		},
		"com.example.bills":  func(p loadbalance.Properties) { require.Equal(t, 2*time.Second, p.HTTP.ResponseTimeout) },
		"com.example.orders": func(p loadbalance.Properties) { require.Equal(t, 5*time.Second, p.HealthCheck.Interval) },
		"another":            func(p loadbalance.Properties) { require.True(t, p.Retry.Enabled) },
	} {
		got, err := p.For(registry.ServiceID{Name: name})
		require.NoError(t, err)
		check(got)
	}

	t.Setenv("CLOUD_LOADBALANCER_CLIENTS", `{"x":{"algorithm":"random"}}`)
	s, _ = readSettings(t, quiet)
	got, err := s.loadbalancer.For(registry.ServiceID{Name: "X"})
	require.NoError(t, err)
	require.Equal(t, "random", got.Algorithm)
}

func TestValidation_OfSingleServices(t *testing.T) {
	_, err := New(ConfigYAML(quiet + `
cloud.loadbalancer.clients:
  user-service: { retry: { max-retry: 1 }, subset.size: 0 }
  User-Service: { algorithm: best }
  bills: { stats.enabled: true }
`))
	require.EqualError(t, err, `cloud.loadbalancer.clients.User-Service.algorithm: "best" must be one of weighted-random, round-robin, random, weighted-round-robin, least-active, p2c, consistent-hash (ConfigYAML:8)
cloud.loadbalancer.clients.bills.stats.enabled: "true" cannot be set for a single service (ConfigYAML:9)
cloud.loadbalancer.clients.user-service.retry.max-retry: "1" there is no such key (ConfigYAML:7)
cloud.loadbalancer.clients.user-service.subset.size: "0" must be 1 or more (ConfigYAML:7)
cloud.loadbalancer.clients.user-service: "{retry: {max-retry: 1}, subset.size: 0}" is the same service as User-Service (ConfigYAML:7)`)
}

func TestValidation_OfNewKeys(t *testing.T) {
	for key, want := range map[string]string{
		"management.server.port: 70000":                        "must be 0 to 65535, or -1 for the web server's",
		"management.server.context-path: 'a b'":                "must be a plain path such as /manage",
		"logging.levels.naming: loud":                          "must be debug, info, warn, error or off",
		"cloud.discovery.client.merge: all":                    "must be first-non-empty or union",
		"cloud.nacos.discovery.endpoint-port: 0":               "must be 1 to 65535",
		"cloud.nacos.discovery.secret-key: s":                  "needs secret-key, and secret-key needs it",
		"cloud.nacos.discovery.watch-delay: 0":                 "must be more than 0",
		"cloud.nacos.discovery.snapshot-max-age: 0":            "must be more than 0",
		"cloud.nacos.discovery.failure-tolerance-max-age: -2s": "must not be negative",
		"cloud.nacos.discovery.endpoint: 'ftp://x'":            "neither http nor https",
		"cloud.loadbalancer.chain: [nowhere]":                  "nowhere",
	} {
		_, err := New(ConfigYAML(quiet + key + "\n"))
		require.ErrorContains(t, err, want, key)
	}
}

func TestValidation_PasswordsAreNotPrinted(t *testing.T) {
	for text, want := range map[string]string{
		"cloud.nacos.server-addr: http://u:hunter2@h:8848":                 `cloud.nacos.server-addr: "http://******@h:8848"`,
		"cloud.nacos.server-addr: 'g:8848,u:hunter2@h:8848'":               `cloud.nacos.server-addr: "g:8848,******@h:8848"`,
		"cloud.nacos.discovery.endpoint: u:p@hunter2@h":                    `cloud.nacos.discovery.endpoint: "******@h"`,
		"cloud.nacos.password: x\ncloud: { nacos: { password: hunter2 } }": `cloud.nacos.password: "******" is set twice`,
		"cloud.nacos.password: hunter2":                                    `cloud.nacos.password: "******" needs cloud.nacos.username`,
		"cloud.nacos.discovery.password: hunter2":                          `cloud.nacos.discovery.password: "******" needs cloud.nacos.discovery.username`,
		"cloud.nacos: { username: u, password: 'pw${hunter2' }":            `cloud.nacos.password: "******" placeholder`,
	} {
		_, err := New(ConfigYAML(quiet + text + "\n"))
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hunter2", text)
	}
}

func TestPlaceholders_OfThisMachine(t *testing.T) {
	s, _ := readSettings(t, quiet+"cloud.nacos.discovery.metadata: { at: '${spring.cloud.client.hostname}/${cloud.client.ip-address}' }\n")
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, host+"/127.0.0.1", s.nacos.Discovery.Metadata["at"])
	s, _ = readSettings(t, quiet+"cloud.nacos.discovery.service: '${spring.application.name}-v2'\n")
	require.Equal(t, "orders-v2", s.nacos.Discovery.Service)
	_, err = New(ConfigYAML("application.name: orders\ncloud.nacos.discovery.ip: ${cloud.client.ip-address}\n"))
	require.ErrorContains(t, err, "placeholders refer to each other")
}
