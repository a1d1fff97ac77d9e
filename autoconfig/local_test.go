package autoconfig

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/internal/netaddr"
	"github.com/rollcall-go/rollcall/loadbalance"
)

// called has the host be called "box", and its addresses by what lookup says.
func called(lookup func(ctx context.Context, address string) ([]string, error)) fx.Option {
	return newBootOption("", func(b *boot) {
		b.host = &host{func() (string, error) { return "box", nil }, lookup, netaddr.System{}}
	})
}

func localOf(t *testing.T, app *App) map[string]any {
	t.Helper()
	_, body := get(t, app, "/actuator/discovery")
	return tree(t, body)["local"].(map[string]any)
}

const looksUp = quiet + "management.endpoints.exposure: '*'\ncloud.nacos.discovery: {enabled: false, register-enabled: false}\n"

func TestLocal_DescribesThisProcess(t *testing.T) {
	app := start(t, called(nil), ConfigYAML(looksUp+`
cloud.discovery.client.simple.local: { service-id: Shop, instance-id: shop-1, host: 192.0.2.9, port: 7000, secure: true, metadata: { Zone: a, api-token: hunter2 } }
`))
	require.Equal(t, map[string]any{
		"serviceId": "Shop", "instanceId": "shop-1", "host": "192.0.2.9", "port": 7000.0, "secure": true, "uri": "https://192.0.2.9:7000",
		"metadata": map[string]any{"Zone": "a", "api-token": "******"},
	}, localOf(t, app))
	_, metrics := get(t, app, "/actuator/prometheus")
	require.Contains(t, metrics, `rollcall_discovery_local_instance_info{host="192.0.2.9",instance="shop-1",port="7000",secure="true",service="Shop"} 1`)

	app = start(t, called(nil), ConfigYAML(looksUp+"cloud.discovery.client.simple.local.uri: https://[2001:db8::1]:8443\n"))
	local := localOf(t, app)
	require.Equal(t, "2001:db8::1", local["host"])
	require.InDelta(t, 8443, local["port"], 0)
	require.Equal(t, "https://[2001:db8::1]:8443", local["uri"])
}

func TestLocal_IsWhatIsRegisteredUnlessItIsConfigured(t *testing.T) {
	app := start(t, called(nil), ConfigYAML(quiet+"cloud.nacos.discovery: {service: bills, port: 81}\n"+"management.endpoints.exposure: '*'\n"), Backend(newFakeRegistry()))
	local := localOf(t, app)
	require.Equal(t, "bills", local["serviceId"])
	require.Equal(t, "http://127.0.0.1:81", local["uri"])
	require.Equal(t, "box:orders:81", local["instanceId"])

	app = start(t, called(nil), ConfigYAML(looksUp))
	local = localOf(t, app)
	require.Equal(t, "orders", local["serviceId"])
	require.Equal(t, "box", local["host"], "nothing is registered")
	require.Equal(t, "http://box:"+strconv.Itoa(app.Addr().(*net.TCPAddr).Port), local["uri"])
}

func TestLocal_NamesThisProcessToTheLoadBalancer(t *testing.T) {
	optionsOf := func(text string) loadbalance.Options {
		s, _ := readSettings(t, quiet+text)
		return s.loadBalancerOptions()
	}
	o := optionsOf("cloud.discovery.client.simple.local: {instance-id: me, metadata: {zone: z}}\n")
	require.Equal(t, "me", o.InstanceID)
	require.Equal(t, "z", o.Zone)
	o = optionsOf("cloud.discovery.client.simple.local: {instance-id: me, metadata: {zone: z}}\napplication.instance-id: i\ncloud.nacos.discovery.metadata.zone: y\n")
	require.Equal(t, "i", o.InstanceID)
	require.Equal(t, "y", o.Zone)
}

func TestValidation_OfTheLocalInstance(t *testing.T) {
	for text, want := range map[string]string{
		"port: 70000":         `cloud.discovery.client.simple.local.port: "70000" must be 1 to 65535`,
		"port: -1":            `cloud.discovery.client.simple.local.port: "-1" must be 1 to 65535`,
		"host: 'a b'":         `cloud.discovery.client.simple.local.host: "a b" instance`,
		"uri: 'ftp://x'":      `cloud.discovery.client.simple.local.uri: "ftp://x" instance "ftp://x": scheme "ftp" is neither http nor https`,
		"uri: 'x:1', port: 1": `cloud.discovery.client.simple.local.uri: "x:1" stands in place of host and port`,
	} {
		_, err := New(ConfigYAML(quiet + "cloud.discovery.client.simple.local: {" + text + "}\n"))
		require.ErrorContains(t, err, want, text)
	}
	_, err := New(ConfigYAML(quiet + "cloud.inetutils.timeout: -2s\n"))
	require.ErrorContains(t, err, `cloud.inetutils.timeout: "-2s" must not be negative`)
}

// The name of the host is looked up for the placeholder, for as long as it may, and
// by nobody else.
func TestBR3_TheHostNameIsLookedUpInItsTime(t *testing.T) {
	slow := func(ctx context.Context, address string) ([]string, error) {
		if address != "192.0.2.7" {
			return nil, errors.New("another address")
		}
		select {
		case <-time.After(3 * time.Second):
			return []string{"shop-7.example.com.", "alias."}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	nobody := func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
	const base = "application.name: orders\ncloud.nacos.discovery.ip: 192.0.2.7\n"
	const placed = "cloud.nacos.discovery.metadata.at: ${cloud.client.hostname}\n"
	for name, test := range map[string]struct {
		text   string
		lookup func(context.Context, string) ([]string, error)
		want   string
		takes  time.Duration
	}{
		"found in time":              {base + placed + "cloud.inetutils.timeout: 5s\n", slow, "shop-7.example.com", 3 * time.Second},
		"found too late":             {base + placed, slow, "box", time.Second},
		"Spring's name, seconds":     {base + placed + "spring.cloud.inetutils.timeout-seconds: 5\n", slow, "shop-7.example.com", 3 * time.Second},
		"nobody knows":               {base + placed, nobody, "box", 0},
		"not to be looked up":        {base + placed + "cloud.inetutils.timeout: 0s\n", slow, "box", 0},
		"registered by name":         {"application.name: orders\ncloud.nacos.discovery.ip: shop.example.com\n" + placed, slow, "shop.example.com", 0},
		"the address is the name":    {"application.name: orders\ncloud.nacos.discovery.ip: ${cloud.client.hostname}\n" + placed, slow, "box", 0},
		"no placeholder, no look-up": {base + "cloud.nacos.discovery.metadata.at: here\n", slow, "here", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &boot{host: &host{func() (string, error) { return "box", nil }, test.lookup, netaddr.System{}}}
				b.sources.Text = test.text
				begin := time.Now()
				s, loaded, err := b.read()
				require.NoError(t, err)
				require.NoError(t, loaded.Err())
				require.Equal(t, test.want, s.nacos.Discovery.Metadata["at"])
				require.Equal(t, test.takes, time.Since(begin))
			})
		})
	}
}

func TestHostName_OfASystemWithoutOne(t *testing.T) {
	b := &boot{host: &host{name: func() (string, error) { return "", errors.New("none") }, interfaces: netaddr.System{}}}
	b.sources.Text = quiet + "cloud.inetutils.default-hostname: somewhere\ncloud.nacos.discovery.metadata.at: ${cloud.client.hostname}\n"
	s, loaded, err := b.read()
	require.NoError(t, err)
	require.NoError(t, loaded.Err())
	require.Equal(t, "somewhere", s.nacos.Discovery.Metadata["at"])
}
