package autoconfig

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/internal/netaddr"
	"github.com/rollcall-go/rollcall/internal/testutil"
)

// keyValue is a value of a key that is not its default. Who notices is the options
// of the parts, unless it is a test of this package that sets the key and sees what
// an application does.
type keyValue struct{ value, test string }

// keyValues has every key. What those of the load balancer do once it has them is
// shown by its own tests.
var keyValues = map[string]keyValue{
	"application.name":             {value: "bills"},
	"application.instance-id":      {value: "one"},
	"application.reload-on-change": {test: "TestReload_WhenTheFileChanged"},

	"server.address":                               {value: "192.0.2.10"},
	"server.port":                                  {value: "0"},
	"server.context-path":                          {test: "TestWebServer_ContextPathIsForEverything"},
	"server.shutdown":                              {value: "immediate"},
	"server.shutdown-timeout":                      {value: "3s"},
	"server.lame-duck":                             {value: "3s"},
	"server.ssl.certificate":                       {test: "TestKeys_TLSOfTheWebServer"},
	"server.ssl.certificate-private-key":           {test: "TestKeys_TLSOfTheWebServer"},
	"management.server.port":                       {value: "0"},
	"management.server.address":                    {test: "TestAR3_Case04_TheManagementPortIsMetadata"},
	"management.server.context-path":               {test: "TestManagementServer_HasTheActuatorToItself"},
	"management.endpoints.base-path":               {test: "TestActuator_ShowsWhatIsExposed"},
	"management.endpoints.exposure":                {test: "TestActuator_ShowsWhatIsExposed"},
	"management.endpoints.exclude":                 {test: "TestActuator_ShowsWhatIsExposed"},
	"management.health.discovery-client.enabled":   {test: "TestIndicators_CanBeSwitchedOff"},
	"management.health.nacos-discovery.enabled":    {test: "TestIndicators_CanBeSwitchedOff"},
	"management.health.registry-affects-readiness": {test: "TestBR8_TheRegistryHasASayInReadinessOnlyOnRequest"},
	"logging.level":                                {test: "TestLogger_LevelAndFormat"},
	"logging.levels":                               {test: "TestReload_TheLevelsOfTheLoggers"},
	"logging.format":                               {test: "TestLogger_LevelAndFormat"},

	"cloud.service-registry.auto-registration.enabled":             {value: "false"},
	"cloud.service-registry.auto-registration.register-management": {test: "TestAR3_Case04_TheManagementPortIsMetadata"},
	"cloud.service-registry.auto-registration.fail-fast":           {test: "TestAutoRegistrationFailFast_MeansNothingToRegisterWith"},
	"cloud.service-registry.auto-registration.register-when":       {value: "listening"},
	"cloud.service-registry.auto-registration.register-delay":      {value: "3s"},
	"cloud.service-registry.auto-registration.initial-status":      {value: "down"},
	"cloud.service-registry.auto-registration.deregister-timeout":  {value: "4s"},
	"cloud.service-registry.auto-registration.drain":               {value: "3s"},

	"cloud.discovery.enabled":                                     {value: "false"},
	"cloud.discovery.client.composite-indicator.enabled":          {test: "TestHealth_OfDiscoveryByItsKeys"},
	"cloud.discovery.client.health-indicator.include-description": {test: "TestHealth_OfDiscoveryByItsKeys"},
	"cloud.discovery.client.health-indicator.use-services-query":  {test: "TestHealth_OfDiscoveryByItsKeys"},
	"cloud.discovery.client.order":                                {value: "[simple, nacos]"},
	"cloud.discovery.client.merge":                                {value: "union"},
	"cloud.discovery.client.simple.instances":                     {value: "{users: [{uri: 'http://192.0.2.8'}]}"},
	"cloud.discovery.client.simple.local.service-id":              {value: "shop"},
	"cloud.discovery.client.simple.local.instance-id":             {value: "shop-1"},
	"cloud.discovery.client.simple.local.host":                    {value: "192.0.2.8"},
	"cloud.discovery.client.simple.local.port":                    {value: "7000"},
	"cloud.discovery.client.simple.local.secure":                  {value: "true"},
	"cloud.discovery.client.simple.local.uri":                     {value: "https://192.0.2.8"},
	"cloud.discovery.client.simple.local.metadata":                {value: "{zone: z}"},

	"cloud.inetutils.default-hostname":               {test: "TestHostName_OfASystemWithoutOne"},
	"cloud.inetutils.default-ip-address":             {test: "TestKeys_TheAddressWhenThereIsNoOther"},
	"cloud.inetutils.timeout":                        {test: "TestBR3_TheHostNameIsLookedUpInItsTime"},
	"cloud.inetutils.ignored-interfaces":             {value: "[eth0]"},
	"cloud.inetutils.preferred-networks":             {value: "[10.1.0.0/16]"},
	"cloud.inetutils.use-only-site-local-interfaces": {value: "true"},
	"cloud.inetutils.pod-ip-env":                     {value: "KEYS_POD_IP"},

	"cloud.nacos.server-addr":                                     {value: "192.0.2.1:8848"},
	"cloud.nacos.username":                                        {value: "ann"},
	"cloud.nacos.password":                                        {value: "p"},
	"cloud.nacos.discovery.enabled":                               {value: "false"},
	"cloud.nacos.discovery.server-addr":                           {value: "192.0.2.1:8848"},
	"cloud.nacos.discovery.username":                              {value: "ann"},
	"cloud.nacos.discovery.password":                              {value: "p"},
	"cloud.nacos.discovery.access-key":                            {value: "a"},
	"cloud.nacos.discovery.secret-key":                            {value: "s"},
	"cloud.nacos.discovery.endpoint":                              {value: "192.0.2.1"},
	"cloud.nacos.discovery.endpoint-port":                         {value: "81"},
	"cloud.nacos.discovery.context-path":                          {value: "/x"},
	"cloud.nacos.discovery.namespace":                             {value: "dev"},
	"cloud.nacos.discovery.service":                               {value: "bills"},
	"cloud.nacos.discovery.group":                                 {value: "G"},
	"cloud.nacos.discovery.cluster-name":                          {value: "C"},
	"cloud.nacos.discovery.weight":                                {value: "3"},
	"cloud.nacos.discovery.metadata":                              {value: "{zone: a}"},
	"cloud.nacos.discovery.register-enabled":                      {value: "false"},
	"cloud.nacos.discovery.instance-enabled":                      {value: "false"},
	"cloud.nacos.discovery.ephemeral":                             {value: "false"},
	"cloud.nacos.discovery.ip":                                    {value: "192.0.2.9"},
	"cloud.nacos.discovery.network-interface":                     {value: "docker0"},
	"cloud.nacos.discovery.ip-type":                               {value: "IPv6"},
	"cloud.nacos.discovery.port":                                  {value: "7000"},
	"cloud.nacos.discovery.secure":                                {value: "true"},
	"cloud.nacos.discovery.heart-beat-interval":                   {value: "2s"},
	"cloud.nacos.discovery.heart-beat-timeout":                    {value: "6s"},
	"cloud.nacos.discovery.ip-delete-timeout":                     {value: "9s"},
	"cloud.nacos.discovery.allow-short-beat":                      {value: "true"},
	"cloud.nacos.discovery.fail-fast":                             {value: "false"},
	"cloud.nacos.discovery.register-retry.initial":                {value: "2s"},
	"cloud.nacos.discovery.register-retry.max":                    {value: "9s"},
	"cloud.nacos.discovery.register-retry.jitter":                 {value: "0.5"},
	"cloud.nacos.discovery.failure-tolerance-enabled":             {value: "false"},
	"cloud.nacos.discovery.failure-tolerance-max-age":             {value: "9s"},
	"cloud.nacos.discovery.naming-load-cache-at-start":            {value: "true"},
	"cloud.nacos.discovery.naming-cache-dir":                      {value: "/somewhere"},
	"cloud.nacos.discovery.snapshot-max-age":                      {value: "1h"},
	"cloud.nacos.discovery.failover-enabled":                      {value: "true"},
	"cloud.nacos.discovery.naming-push-empty-protection":          {value: "true"},
	"cloud.nacos.discovery.empty-protection-ttl":                  {value: "1m"},
	"cloud.nacos.discovery.naming-request-domain-max-retry-count": {value: "5"},
	"cloud.nacos.discovery.connect-timeout":                       {value: "1s"},
	"cloud.nacos.discovery.request-timeout":                       {value: "1s"},
	"cloud.nacos.discovery.refresh-interval":                      {value: "1s"},
	"cloud.nacos.discovery.max-back-off":                          {value: "1s"},
	"cloud.nacos.discovery.first-fetch-timeout":                   {value: "1s"},
	"cloud.nacos.discovery.server-list-refresh-interval":          {value: "1s"},
	"cloud.nacos.discovery.watch.enabled":                         {value: "true"},
	"cloud.nacos.discovery.heart-beat.enabled":                    {value: "true"},
	"cloud.nacos.discovery.watch-delay":                           {value: "1s"},
	"cloud.nacos.discovery.log-name":                              {test: "TestKeys_TheNameOfTheRegistryClientsLogger"},
	"cloud.nacos.discovery.push.enabled":                          {value: "true"},
	"cloud.nacos.discovery.push.port":                             {value: "9"},
	"cloud.nacos.discovery.push.advertise-ip":                     {value: "192.0.2.9"},
	"cloud.nacos.discovery.tls.enabled":                           {value: "true"},
	"cloud.nacos.discovery.tls.ca-file":                           {test: "TestKeys_TLSToTheRegistry"},
	"cloud.nacos.discovery.tls.cert-file":                         {test: "TestKeys_TLSToTheRegistry"},
	"cloud.nacos.discovery.tls.key-file":                          {test: "TestKeys_TLSToTheRegistry"},
	"cloud.nacos.discovery.tls.insecure-skip-verify":              {value: "true"},

	"cloud.loadbalancer.enabled":                                     {test: "TestConditions_DecideWhatIsInTheGraph"},
	"cloud.loadbalancer.nacos.enabled":                               {value: "false"},
	"cloud.loadbalancer.configurations":                              {value: "weighted"},
	"cloud.loadbalancer.chain":                                       {value: "[usable, outlier]"},
	"cloud.loadbalancer.algorithm":                                   {value: "random"},
	"cloud.loadbalancer.hash-key":                                    {value: "ip"},
	"cloud.loadbalancer.zone":                                        {value: "a"},
	"cloud.loadbalancer.prefer-same-cluster":                         {value: "false"},
	"cloud.loadbalancer.min-available":                               {value: "5"},
	"cloud.loadbalancer.ip-type":                                     {value: "IPv4"},
	"cloud.loadbalancer.service-discovery.timeout":                   {value: "3s"},
	"cloud.loadbalancer.hint":                                        {value: "{orders: blue}"},
	"cloud.loadbalancer.hint-header-name":                            {value: "Hint"},
	"cloud.loadbalancer.sticky-session.instance-id-cookie-name":      {value: "at"},
	"cloud.loadbalancer.sticky-session.add-service-instance-cookie":  {value: "true"},
	"cloud.loadbalancer.health-check.initial-delay":                  {value: "3s"},
	"cloud.loadbalancer.health-check.interval":                       {value: "3s"},
	"cloud.loadbalancer.health-check.timeout":                        {value: "3s"},
	"cloud.loadbalancer.health-check.path":                           {value: "{orders: /ready}"},
	"cloud.loadbalancer.health-check.port":                           {value: "81"},
	"cloud.loadbalancer.health-check.refetch-instances":              {value: "true"},
	"cloud.loadbalancer.health-check.refetch-instances-interval":     {value: "3s"},
	"cloud.loadbalancer.health-check.repeat-health-check":            {value: "false"},
	"cloud.loadbalancer.health-check.update-results-list":            {value: "true"},
	"cloud.loadbalancer.health-check.unhealthy-threshold":            {value: "5"},
	"cloud.loadbalancer.health-check.healthy-threshold":              {value: "5"},
	"cloud.loadbalancer.health-check.fail-open":                      {value: "false"},
	"cloud.loadbalancer.retry.enabled":                               {value: "false"},
	"cloud.loadbalancer.retry.retry-on-all-operations":               {value: "true"},
	"cloud.loadbalancer.retry.retry-on-all-exceptions":               {value: "true"},
	"cloud.loadbalancer.retry.max-retries-on-same-service-instance":  {value: "5"},
	"cloud.loadbalancer.retry.max-retries-on-next-service-instance":  {value: "5"},
	"cloud.loadbalancer.retry.retryable-status-codes":                {value: "[503]"},
	"cloud.loadbalancer.retry.retryable-exceptions":                  {value: "[io]"},
	"cloud.loadbalancer.retry.retry-on-connect-error":                {value: "false"},
	"cloud.loadbalancer.retry.avoid-previous-instance":               {value: "false"},
	"cloud.loadbalancer.retry.backoff.enabled":                       {value: "true"},
	"cloud.loadbalancer.retry.backoff.min-backoff":                   {value: "3s"},
	"cloud.loadbalancer.retry.backoff.max-backoff":                   {value: "3s"},
	"cloud.loadbalancer.retry.backoff.jitter":                        {value: "0.1"},
	"cloud.loadbalancer.retry.budget-percent":                        {value: "5"},
	"cloud.loadbalancer.subset.instance-id":                          {value: "one"},
	"cloud.loadbalancer.subset.size":                                 {value: "5"},
	"cloud.loadbalancer.api-version.required":                        {value: "true"},
	"cloud.loadbalancer.api-version.default":                         {value: "5"},
	"cloud.loadbalancer.api-version.header":                          {value: "Version"},
	"cloud.loadbalancer.api-version.query-parameter":                 {value: "v"},
	"cloud.loadbalancer.api-version.path-segment":                    {value: "1"},
	"cloud.loadbalancer.api-version.media-type-parameters":           {value: "{application/json: v}"},
	"cloud.loadbalancer.api-version.fallback-to-available-instances": {value: "true"},
	"cloud.loadbalancer.x-forwarded.enabled":                         {value: "true"},
	"cloud.loadbalancer.preserve-host":                               {value: "true"},
	"cloud.loadbalancer.outlier.enabled":                             {value: "true"},
	"cloud.loadbalancer.outlier.connection-failure-count-threshold":  {value: "5"},
	"cloud.loadbalancer.outlier.circuit-trip-timeout-factor":         {value: "5s"},
	"cloud.loadbalancer.outlier.circuit-trip-max-timeout":            {value: "40s"},
	"cloud.loadbalancer.outlier.active-connections-limit":            {value: "5"},
	"cloud.loadbalancer.outlier.max-ejected-percent":                 {value: "5"},
	"cloud.loadbalancer.warm-up":                                     {value: "3s"},
	"cloud.loadbalancer.use-unhealthy-when-empty":                    {value: "true"},
	"cloud.loadbalancer.stats.enabled":                               {value: "true"},
	"cloud.loadbalancer.stats.include-path":                          {value: "true"},
	"cloud.loadbalancer.eager-load.clients":                          {value: "[users]"},
	"cloud.loadbalancer.http.connect-timeout":                        {value: "3s"},
	"cloud.loadbalancer.http.response-timeout":                       {value: "3s"},
	"cloud.loadbalancer.http.max-idle-conns-per-host":                {value: "5"},
	"cloud.loadbalancer.http.max-conns-per-host":                     {value: "5"},
	"cloud.loadbalancer.http.balanced-hosts":                         {value: "[users]"},
	"cloud.loadbalancer.clients":                                     {value: "{users: {warm-up: 3s}}"},
}

// keysBeside are further keys that stand beside one that would be refused, or mean
// nothing, without them.
var keysBeside = map[string]map[string]string{
	"cloud.nacos.password":                           {"cloud.nacos.username": "ann"},
	"cloud.nacos.discovery.password":                 {"cloud.nacos.username": "ann"},
	"cloud.nacos.discovery.access-key":               {"cloud.nacos.discovery.access-key": "b", "cloud.nacos.discovery.secret-key": "s"},
	"cloud.nacos.discovery.secret-key":               {"cloud.nacos.discovery.access-key": "a", "cloud.nacos.discovery.secret-key": "t"},
	"cloud.nacos.discovery.endpoint-port":            {"cloud.nacos.discovery.endpoint": "192.0.2.1"},
	"cloud.nacos.discovery.tls.insecure-skip-verify": {"cloud.nacos.discovery.tls.enabled": "true"},
	"cloud.loadbalancer.api-version.required":        {"cloud.loadbalancer.api-version.header": "Version"},
}

// A key without an effect is worse than none: every key changes what a part is made
// with, or a test of its own sees what it does.
func TestKeys_EachHasAnEffect(t *testing.T) {
	t.Setenv("KEYS_POD_IP", "192.0.2.99")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	tests := testutil.TestBodies(t)
	_, loaded := readSettings(t, quiet)
	known := map[string]bool{}
	for _, e := range loaded.Effective() {
		known[e.Key] = true
		require.Contains(t, keyValues, e.Key, "a new key needs a row")
	}
	for key, row := range keyValues {
		require.True(t, known[key], "%s is no key", key)
		if row.test != "" {
			require.Contains(t, tests, row.test, key)
			require.Contains(t, tests[row.test], distinctName(key), "%s does not set %s", row.test, key)
			continue
		}
		keys := map[string]string{"application.name": "orders"}
		maps.Copy(keys, keysBeside[key])
		without := effects(t, keys)
		keys[key] = row.value
		require.NotEqual(t, without, effects(t, keys), "%s changes nothing", key)
	}
}

// effects are what the parts of an application are made with.
func effects(t *testing.T, keys map[string]string) string {
	t.Helper()
	text := ""
	for key, value := range keys {
		text += key + ": " + value + "\n"
	}
	b := &boot{host: &host{
		name:       func() (string, error) { return "box", nil },
		lookup:     func(context.Context, string) ([]string, error) { return nil, errors.New("nobody knows") },
		interfaces: twoInterfaces{},
	}}
	b.sources.Text = text
	s, loaded, err := b.read()
	require.NoError(t, err)
	require.NoError(t, loaded.Err(), text)
	discovering, err := s.discoveryOptions()
	require.NoError(t, err)
	client, err := s.nacosClient()
	require.NoError(t, err)
	secured := fmt.Sprint(client.TLS != nil, client.TLS != nil && client.TLS.InsecureSkipVerify)
	client.TLS = nil
	table, err := s.discovery.Client.table()
	require.NoError(t, err)
	choice, err := netaddr.Select(s.address(), s.host.interfaces)
	require.NoError(t, err)
	balancing := s.loadBalancerOptions()
	calling := *balancing.Properties
	balancing.Properties = nil
	return fmt.Sprintf("%+v\n", []any{
		discovering, client, secured, table, (&offer{choice: choice}).registration(s), s.autoOptions(), s.shutdownTime(),
		balancing, calling, s.localInstance(&inside{})(), s.nacosRegistry(nil), s.nacosSource(nil),
		s.webServer().holds, s.managementServer().holds, s.discoveryClient().holds, s.nacosBackend(false).holds, s.registration().holds,
	})
}

type twoInterfaces struct{}

func (twoInterfaces) Interfaces() ([]netaddr.Interface, error) {
	addrs := func(texts ...string) (all []netip.Addr) {
		for _, text := range texts {
			all = append(all, netip.MustParseAddr(text))
		}
		return all
	}
	return []netaddr.Interface{
		{Name: "docker0", Index: 1, Up: true, Addrs: addrs("172.17.0.1")},
		{Name: "eth0", Index: 2, Up: true, Addrs: addrs("192.0.2.10", "10.1.2.3", "2001:db8::10")},
	}, nil
}

// distinctName is the part of a key that a test of it has to name.
func distinctName(key string) string {
	names := strings.Split(key, ".")
	for i := len(names) - 1; i >= 0; i-- {
		switch names[i] {
		case "enabled", "port", "address":
			continue
		}
		return names[i]
	}
	return key
}

func TestKeys_TheAddressWhenThereIsNoOther(t *testing.T) {
	r := template(t, ConfigYAML("application.name: orders\nserver.port: 0\ncloud.inetutils: {ignored-interfaces: ['.*'], default-ip-address: 192.0.2.77}\n"))
	require.Equal(t, "192.0.2.77", r.IP)
}

func TestKeys_TheNameOfTheRegistryClientsLogger(t *testing.T) {
	for text, name := range map[string]string{"": "naming", "cloud.nacos.discovery.log-name: nacos-client\n": "nacos-client"} {
		var loggers *Loggers
		assembled(t, ConfigYAML(quiet+text), fx.Populate(&loggers))
		require.Contains(t, loggers.Levels(), name)
	}
}

// The registry trusts its own authority alone, and wants to know who calls.
func TestKeys_TLSToTheRegistry(t *testing.T) {
	own, theirs := sslFiles(t), sslFiles(t)
	clients := writeCertificate(t, own, "an application")
	writeCertificate(t, theirs, "the registry")
	certificate, err := tls.LoadX509KeyPair(theirs.Certificate, theirs.CertificatePrivateKey)
	require.NoError(t, err)
	nacos := testutil.NewFakeNacos()
	server := httptest.NewUnstartedServer(nacos)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	const key = "cloud.nacos.discovery.tls."
	all := []string{
		key + "enabled: true\n", key + "ca-file: " + theirs.Certificate + "\n",
		key + "cert-file: " + own.Certificate + "\n" + key + "key-file: " + own.CertificatePrivateKey + "\n",
	}
	base := quiet + "cloud.nacos.server-addr: " + server.Listener.Addr().String() + "\n"
	start(t, ConfigYAML(base+strings.Join(all, "")))
	require.Len(t, nacos.Instances("public", "DEFAULT_GROUP@@orders"), 1)
	for left := range all {
		app := assembled(t, ConfigYAML(base+strings.Join(slices.Delete(slices.Clone(all), left, left+1), "")),
			Property("cloud.nacos.discovery.naming-request-domain-max-retry-count", 1))
		require.Error(t, app.Start(t.Context()), "without %s", all[left])
	}
}

func TestKeys_TLSOfTheWebServer(t *testing.T) {
	files := sslFiles(t)
	roots := writeCertificate(t, files, "orders")
	app := start(t, alone, Property("management.endpoints.exposure", "health"),
		Property("server.ssl.certificate", files.Certificate), Property("server.ssl.certificate-private-key", files.CertificatePrivateKey))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	status, _ := getWith(t, client, "https://"+app.Addr().String()+"/actuator/health")
	require.Equal(t, http.StatusOK, status)
}
