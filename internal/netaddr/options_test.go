package netaddr_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/netaddr"
)

func TestBR1_ErrorsNameTheKey(t *testing.T) {
	tests := map[string]struct {
		change func(*netaddr.Options)
		want   []string
	}{
		"type":             {func(o *netaddr.Options) { o.IPType = "v6" }, []string{"cloud.nacos.discovery.ip-type", `"v6"`, "IPv4"}},
		"address":          {func(o *netaddr.Options) { o.IP = "10.0.0.300" }, []string{"cloud.nacos.discovery.ip ", `"10.0.0.300"`}},
		"with port":        {func(o *netaddr.Options) { o.IP = "10.0.0.3:8080" }, []string{"cloud.nacos.discovery.ip "}},
		"with zone":        {func(o *netaddr.Options) { o.IP = "fe80::1%eth0" }, []string{"cloud.nacos.discovery.ip ", "zone"}},
		"half in brackets": {func(o *netaddr.Options) { o.IP = "[::1" }, []string{"cloud.nacos.discovery.ip "}},
		"any":              {func(o *netaddr.Options) { o.IP = "0.0.0.0" }, []string{"cloud.nacos.discovery.ip ", "not the address of a host"}},
		"URL":              {func(o *netaddr.Options) { o.IP = "http://host" }, []string{"cloud.nacos.discovery.ip "}},
		"spaces":           {func(o *netaddr.Options) { o.IP = " " }, []string{"cloud.nacos.discovery.ip "}},
		"slash":            {func(o *netaddr.Options) { o.IP = "host/path" }, []string{"cloud.nacos.discovery.ip "}},
		"ignored":          {func(o *netaddr.Options) { o.IgnoredInterfaces = []string{"eth["} }, []string{"cloud.inetutils.ignored-interfaces", `"eth["`}},
		"preferred":        {func(o *netaddr.Options) { o.PreferredNetworks = []string{"10.(", "10."} }, []string{"cloud.inetutils.preferred-networks", `"10.("`}},
		"no CIDR":          {func(o *netaddr.Options) { o.PreferredNetworks = []string{"10.0.0.0/33"} }, []string{"cloud.inetutils.preferred-networks", `"10.0.0.0/33"`, "CIDR"}},
		"default":          {func(o *netaddr.Options) { o.DefaultIP = "localhost" }, []string{"cloud.inetutils.default-ip-address", `"localhost"`}},
		"interface": {func(o *netaddr.Options) { o.Interface = "eth9" }, []string{
			"cloud.nacos.discovery.network-interface", `"eth9"`, "docker0, eth0, eth1, eth2, lo, ppp0, tun0",
		}},
		"environment": {func(o *netaddr.Options) { o.LookupEnv = env("POD_IP", "pod") }, []string{"POD_IP", `"pod"`}},
		"all at once": {func(o *netaddr.Options) { o.IPType, o.DefaultIP = "v6", "x" }, []string{"ip-type", "default-ip-address"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := netaddr.Select(defaults(test.change), host())
			require.Error(t, err)
			for _, part := range test.want {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestBR1_NamedInterfaceWithoutUsableAddress(t *testing.T) {
	machine := fake{up(2, "eth0", "fe80::1"), up(3, "eth1", "10.0.0.3")}
	_, err := netaddr.Select(defaults(func(o *netaddr.Options) { o.Interface = "eth0" }), machine)
	require.ErrorContains(t, err, "no usable address")
}

// TestBR3_NoInterfacesNeeded: with an explicit address the start asks nobody.
func TestBR3_NoInterfacesNeeded(t *testing.T) {
	got, err := netaddr.Select(defaults(func(o *netaddr.Options) { o.IP = "host-7" }), broken{})
	require.NoError(t, err)
	require.Equal(t, "host-7", got.IP)

	_, err = netaddr.Select(defaults(), broken{})
	require.ErrorContains(t, err, "not allowed")
}

func TestBR2_OneLineSaysWhy(t *testing.T) {
	lines := func(level slog.Level, machine fake) []string {
		var out bytes.Buffer
		choice, err := netaddr.Select(defaults(), machine)
		require.NoError(t, err)
		choice.Log(context.Background(), slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})))
		return strings.Split(strings.TrimSpace(out.String()), "\n")
	}
	info := lines(slog.LevelInfo, host())
	require.Len(t, info, 1)
	for _, part := range []string{"level=INFO", "ip=192.168.7.20", "interface=eth0", "rule=scan"} {
		require.Contains(t, info[0], part)
	}
	debug := strings.Join(lines(slog.LevelDebug, host()), "\n")
	for _, part := range []string{
		`interface=docker0 address="" reason="is ignored"`, `interface=lo address="" reason="is loopback"`,
		`interface=eth0 address=fe80::1 reason="is link-local"`, "address=10.1.2.3", "address=192.168.7.21",
	} {
		require.Contains(t, debug, part)
	}
	require.Contains(t, lines(slog.LevelInfo, fake{})[0], "level=WARN")
	require.Contains(t, lines(slog.LevelInfo, fake{})[0], "use=cloud.nacos.discovery.ip", "what to do")
}

func TestValidateAcceptsDefaults(t *testing.T) {
	require.NoError(t, netaddr.DefaultOptions().Validate())
	require.NoError(t, netaddr.Options{}.Validate())
}

func TestSystemListsLoopback(t *testing.T) {
	interfaces, err := netaddr.System{}.Interfaces()
	require.NoError(t, err)
	listed, err := net.Interfaces()
	require.NoError(t, err)
	require.Len(t, interfaces, len(listed))
	for n, i := range interfaces {
		require.Equal(t, listed[n].Name, i.Name)
		require.Equal(t, listed[n].Flags&net.FlagUp != 0, i.Up)
		require.Equal(t, listed[n].Flags&net.FlagLoopback != 0, i.Loopback)
		for _, a := range i.Addrs {
			require.True(t, a.IsValid())
			require.False(t, a.Is4In6())
		}
	}
}
