package autoconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/registry"
)

// template is what the application would register, by the given properties.
func template(t *testing.T, opts ...fx.Option) registry.Registration {
	t.Helper()
	var r registry.Registration
	assembled(t, append(opts, Backend(newFakeRegistry()), fx.Populate(&r))...)
	return r
}

func TestRegistration_FromTheProperties(t *testing.T) {
	r := template(t, ConfigYAML(`
application.name: orders
cloud.nacos.discovery:
  namespace: test
  service: ${application.name}-v2
  group: G
  cluster-name: C
  weight: 2.5
  instance-enabled: false
  ephemeral: false
  ip: "[2001:db8::1]"
  port: 9000
`))
	want := registry.NewInstance(registry.ServiceID{Namespace: "test", Group: "G", Name: "orders-v2"}, "2001:db8::1", 9000)
	want.Cluster, want.Weight, want.Enabled, want.Ephemeral = "C", 2.5, false, false
	want.Metadata = map[string]string{"preserved.register.source": "ROLLCALL"}
	require.Equal(t, want, r.Instance)
}

func TestRegistration_Defaults(t *testing.T) {
	r := template(t, ConfigYAML(quiet))
	want := registry.NewInstance(registry.ServiceID{Name: "orders"}, "127.0.0.1", 0)
	want.Metadata = map[string]string{"preserved.register.source": "ROLLCALL"}
	require.Equal(t, want, r.Instance)
}

func TestRegistration_MetadataAddedByItself(t *testing.T) {
	r := template(t, ConfigYAML(quiet+`
cloud.nacos.discovery:
  secure: true
  heartBeatInterval: 1000
  heart-beat-timeout: 3s
  ipDeleteTimeout: 6s
  metadata:
    gRPC_port: 9090
    version: 1.10
    preserved.ip.delete.timeout: 9000
`))
	require.Equal(t, map[string]string{
		"preserved.register.source": "ROLLCALL", "secure": "true", "gRPC_port": "9090", "version": "1.10",
		"preserved.heart.beat.interval": "1000", "preserved.heart.beat.timeout": "3000",
		"preserved.ip.delete.timeout": "9000", // what the user writes wins
	}, r.Metadata)
	require.Equal(t, map[string]string{registry.MetadataIPv6: "[2001:db8::1]", registry.MetadataRegisterSource: "ROLLCALL"},
		metadata(&NacosDiscoveryProperties{}, "[2001:db8::1]"))
}

func TestBR2_OneLogLineSaysWhyTheAddressWasChosen(t *testing.T) {
	for _, c := range []struct{ property, rule string }{
		{"cloud.nacos.discovery.ip=192.0.2.1", "ip=192.0.2.1 interface=\"\" rule=ip"},
		{"cloud.inetutils.pod-ip-env=MY_POD", "ip=192.0.2.2 interface=\"\" rule=pod-ip"},
		{"cloud.nacos.discovery.network-interface=lo", "interface=lo rule=network-interface"},
		{"cloud.inetutils.ignored-interfaces=.*", "ip=127.0.0.1 interface=\"\" rule=default-ip-address"},
		{"server.address=127.0.0.9", "ip=127.0.0.9 interface=\"\" rule=listen-address"},
	} {
		key, value, _ := strings.Cut(c.property, "=")
		t.Setenv("MY_POD", "192.0.2.2")
		log, text := logTo()
		template(t, ConfigYAML("application.name: orders\nserver: {port: 0}\n"), log, Property(key, value))
		require.Equal(t, 1, text.count(`msg="address chosen`), c.property)
		require.Contains(t, text.String(), c.rule)
	}
}

// A key with a misspelt name is often the reason why another one is missing.
func TestValidation_FailingStartTellsOfUnknownKeysToo(t *testing.T) {
	log, text := logTo()
	_, err := New(log, ConfigYAML("applikation: {name: g}\ncloud: {nacos: {discovery: {grup: x}}}\n"))
	require.ErrorContains(t, err, "application.name: must be set")
	require.Contains(t, text.String(), "nearest=application")
	require.Contains(t, text.String(), "nearest=cloud.nacos.discovery.group")
}

func TestValidation_FailingStartTellsThatNoFileWasFound(t *testing.T) {
	t.Chdir(t.TempDir())
	log, text := logTo()
	_, err := New(log)
	require.ErrorContains(t, err, "application.name: must be set")
	require.Contains(t, text.String(), "no configuration file")
}

func TestValidation_AcrossBlocksNamesKeyAndValue(t *testing.T) {
	for name, c := range map[string]struct {
		opts []fx.Option
		want string
	}{
		"no name": {
			[]fx.Option{Property("application.name", "")},
			`application.name: "" must be set to register, or cloud.nacos.discovery.service; cloud.nacos.discovery.register-enabled: false only looks services up (property)`,
		},
		"server address": {
			[]fx.Option{Property("cloud.nacos.discovery.server-addr", "ftp://a")},
			`cloud.nacos.discovery.server-addr: "ftp://a"`,
		},
		"common server address": {
			[]fx.Option{Property("cloud.nacos.server-addr", []string{"a:x"})},
			`cloud.nacos.server-addr: "a:x"`,
		},
		"register-when": {
			[]fx.Option{Property(auto+"register-when", "later")},
			auto + `register-when: "later" allowed are ready, listening and manual (property)`,
		},
		"service name": {
			[]fx.Option{Property("application.name", "bad name/")},
			`application.name: "bad name/" must be a service name`,
		},
		"service with a group": {
			[]fx.Option{Property("cloud.nacos.discovery.service", "A@@b")},
			`cloud.nacos.discovery.service: "A@@b" must be a service name`,
		},
		"group": {
			[]fx.Option{Property("cloud.nacos.discovery.group", "a@@b")},
			`cloud.nacos.discovery.group: "a@@b" must be a group name`,
		},
		"cluster": {
			[]fx.Option{Property("cloud.nacos.discovery.cluster-name", "x_y")},
			`cloud.nacos.discovery.cluster-name: "x_y" must be a cluster name`,
		},
		"retry": {
			[]fx.Option{Property("cloud.nacos.discovery.register-retry.max", "1ms")},
			`cloud.nacos.discovery.register-retry.max: "1ms" must not be less than initial (property)`,
		},
		"ip": {
			[]fx.Option{Property("cloud.nacos.discovery.ip", "10.0.0.1:80")},
			`cloud.nacos.discovery.ip: "10.0.0.1:80" is not an IP address (property)`,
		},
		"ip-type": {
			[]fx.Option{Property("cloud.nacos.discovery.ip-type", "IPv5")},
			`cloud.nacos.discovery.ip-type: "IPv5" allowed are IPv4, IPv6 and empty (property)`,
		},
		"inetutils": {
			[]fx.Option{Property("cloud.inetutils.ignored-interfaces", "(")},
			`cloud.inetutils.ignored-interfaces: "(" is not a regular expression (property)`,
		},
		"weight": {
			[]fx.Option{Property("cloud.nacos.discovery.weight", "NaN")},
			`cloud.nacos.discovery.weight: "NaN" must be 0 to 10000 (property)`,
		},
		"beats": {
			[]fx.Option{Property("cloud.nacos.discovery.heart-beat-interval", 5)},
			`cloud.nacos.discovery.heart-beat-interval: "5" is below 1s, which is mostly a mistaken unit; set allow-short-beat if it is meant (property)`,
		},
		"timeout": {
			[]fx.Option{Property("cloud.nacos.discovery.heart-beat-timeout", "2s")},
			`cloud.nacos.discovery.heart-beat-timeout: "2s" must not be below the beat interval of 5s (property)`,
		},
		"rarer than it is removed": {
			[]fx.Option{Property("cloud.nacos.discovery.heart-beat-interval", "40s"), Property("cloud.nacos.discovery.heart-beat-timeout", "60s")},
			`cloud.nacos.discovery.heart-beat-interval: "40s" is above the ip-delete-timeout of 30s (property)`,
		},
		"beyond a day": {
			[]fx.Option{Property("cloud.nacos.discovery.ip-delete-timeout", "48h")},
			`cloud.nacos.discovery.ip-delete-timeout: "48h" must not be above 24h0m0s (property)`,
		},
		"blanks around a namespace": {
			[]fx.Option{Property("cloud.nacos.discovery.namespace", "dev\n")},
			`cloud.nacos.discovery.namespace: "dev\n" must not have blanks around it (property)`,
		},
		"a blank cluster": {
			[]fx.Option{Property("cloud.nacos.discovery.cluster-name", " ")},
			`cloud.nacos.discovery.cluster-name: " " must be a cluster name: letters, digits and - (property)`,
		},
		"context path": {
			[]fx.Option{Property("cloud.nacos.discovery.context-path", "http://h/nacos")},
			`cloud.nacos.discovery.context-path: "http://h/nacos" context path "http://h/nacos" holds the segment "" (property)`,
		},
		"a context path of two lines": {
			[]fx.Option{Property("cloud.nacos.discovery.context-path", "nacos\nv2")},
			"cloud.nacos.discovery.context-path: ",
		},
		"https without tls": {
			[]fx.Option{Property("cloud.nacos.server-addr", "https://127.0.0.1,127.0.0.2"), Property("cloud.nacos.discovery.tls.ca-file", "ca.pem")},
			`cloud.nacos.discovery.tls.enabled: must be true for the other keys of tls to count, where some addresses are https and others name no scheme`,
		},
		"https by address": {
			[]fx.Option{Property("cloud.nacos.server-addr", "https://127.0.0.1"), Property("cloud.nacos.discovery.tls.ca-file", "missing.pem")},
			`cloud.nacos.discovery.tls.ca-file: "missing.pem" open missing.pem: no such file or directory (property)`,
		},
		"tls": {
			[]fx.Option{Property("cloud.nacos.discovery.tls.enabled", true), Property("cloud.nacos.discovery.tls.ca-file", "missing.pem")},
			`cloud.nacos.discovery.tls.ca-file: "missing.pem" open missing.pem: no such file or directory (property)`,
		},
		"algorithm": {
			[]fx.Option{Property("cloud.loadbalancer.algorithm", "best")},
			`cloud.loadbalancer.algorithm: "best" must be one of weighted-random, round-robin, random, weighted-round-robin, least-active, p2c, consistent-hash (property)`,
		},
		"simple instances": {
			[]fx.Option{Property("cloud.discovery.client.simple.instances", `{"users":[{"uri":"ftp://x"},{"host":"h"}]}`)},
			`instance 1 of service "users": instance "h:0"`,
		},
		"password": {
			[]fx.Option{Property("cloud.nacos.discovery.password", "${nowhere}")},
			`cloud.nacos.discovery.password: "******" placeholder ${nowhere} has no value`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(append([]fx.Option{ConfigYAML(quiet)}, c.opts...)...)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestValidation_WhatDoesNotTakePartIsNotChecked(t *testing.T) {
	assembled(t, alone, Property("application.name", ""), Property("cloud.nacos.server-addr", "ftp://a"), Property(auto+"register-when", "later"))
	assembled(t, ConfigYAML(quiet), Property("application.name", ""), Property("cloud.nacos.discovery.register-enabled", false))
}
