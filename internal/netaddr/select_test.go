package netaddr_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/internal/netaddr"
)

// fake is a machine with the given interfaces.
type fake []netaddr.Interface

func (f fake) Interfaces() ([]netaddr.Interface, error) { return f, nil }

// broken is a machine that does not tell.
type broken struct{}

func (broken) Interfaces() ([]netaddr.Interface, error) { return nil, errors.New("not allowed") }

// up returns an interface that is up.
func up(index int, name string, addrs ...string) netaddr.Interface {
	i := netaddr.Interface{Name: name, Index: index, Up: true}
	for _, a := range addrs {
		i.Addrs = append(i.Addrs, netip.MustParseAddr(a))
	}
	return i
}

func down(i netaddr.Interface) netaddr.Interface         { i.Up = false; return i }
func loopback(i netaddr.Interface) netaddr.Interface     { i.Loopback = true; return i }
func pointToPoint(i netaddr.Interface) netaddr.Interface { i.PointToPoint = true; return i }

// host is an ordinary machine with containers, a VPN and two networks.
func host() fake {
	return fake{
		loopback(up(1, "lo", "127.0.0.1", "::1")),
		up(2, "docker0", "172.17.0.1"),
		up(3, "eth0", "fe80::1", "192.168.7.20", "192.168.7.21", "2001:db8::20"),
		up(4, "eth1", "10.1.2.3"),
		pointToPoint(up(5, "ppp0", "100.64.0.9")),
		up(6, "tun0", "10.8.0.2"),
		down(up(7, "eth2", "10.9.9.9")),
	}
}

// defaults returns the default options without the environment of the test.
func defaults(change ...func(*netaddr.Options)) netaddr.Options {
	o := netaddr.DefaultOptions()
	o.LookupEnv = func(string) (string, bool) { return "", false }
	for _, f := range change {
		f(&o)
	}
	return o
}

func env(name, value string) func(string) (string, bool) {
	return func(asked string) (string, bool) { return value, asked == name }
}

type want struct{ IP, IPv6, Interface, Rule string }

func TestCase02_AddressSelection(t *testing.T) {
	const scan, named = netaddr.RuleScan, netaddr.RuleInterface
	tests := []struct {
		name    string
		machine fake
		change  func(*netaddr.Options)
		want    want
		warns   bool
	}{
		{
			name: "the bridge has a lower index than the card", machine: host(),
			want: want{"192.168.7.20", "[2001:db8::20]", "eth0", scan},
		},
		{
			name: "the list is in another order", machine: fake{up(9, "eth1", "10.0.0.9"), up(2, "eth0", "10.0.0.2")},
			want: want{"10.0.0.2", "", "eth0", scan},
		},
		{
			name: "the index counts, not the name", machine: fake{up(3, "eth0", "10.0.0.3"), up(2, "wlan1", "10.0.0.2")},
			want: want{"10.0.0.2", "", "wlan1", scan},
		},
		{
			name: "explicit address wins over everything", machine: host(),
			change: func(o *netaddr.Options) {
				o.IP, o.Interface, o.IPType, o.LookupEnv = "203.0.113.9", "eth1", netaddr.IPv6, env("POD_IP", "10.9.0.1")
			},
			want: want{"203.0.113.9", "", "", netaddr.RuleIP},
		},
		{
			name: "explicit IPv6 in brackets", machine: host(),
			change: func(o *netaddr.Options) { o.IP = "[2001:DB8:0::7]" },
			want:   want{"2001:db8::7", "", "", netaddr.RuleIP},
		},
		{
			name: "explicit host name is not looked up", machine: host(),
			change: func(o *netaddr.Options) { o.IP = "orders.example.invalid" },
			want:   want{"orders.example.invalid", "", "", netaddr.RuleIP},
		},
		{
			name: "POD_IP wins over a named interface", machine: host(),
			change: func(o *netaddr.Options) { o.Interface, o.LookupEnv = "eth1", env("POD_IP", " 10.9.0.1 ") },
			want:   want{"10.9.0.1", "", "", netaddr.RulePodIP},
		},
		{
			name: "listening on one address", machine: host(),
			change: func(o *netaddr.Options) { o.ListenIP = "127.0.0.1" },
			want:   want{"127.0.0.1", "", "", netaddr.RuleListen},
		},
		{
			name: "listening on all", machine: host(),
			change: func(o *netaddr.Options) { o.ListenIP = "0.0.0.0" },
			want:   want{"192.168.7.20", "[2001:db8::20]", "eth0", scan},
		},
		{
			name: "POD_IP wins over listening on one address", machine: host(),
			change: func(o *netaddr.Options) { o.ListenIP, o.LookupEnv = "127.0.0.1", env("POD_IP", "10.9.0.1") },
			want:   want{"10.9.0.1", "", "", netaddr.RulePodIP},
		},
		{
			name: "the variable has another name", machine: host(),
			change: func(o *netaddr.Options) { o.PodIPEnv, o.LookupEnv = "MY_IP", env("MY_IP", "10.9.0.1") },
			want:   want{"10.9.0.1", "", "", netaddr.RulePodIP},
		},
		{
			name: "no variable is looked at", machine: host(),
			change: func(o *netaddr.Options) { o.PodIPEnv, o.LookupEnv = "", env("", "10.9.0.1") },
			want:   want{"192.168.7.20", "[2001:db8::20]", "eth0", scan},
		},
		{
			name: "POD_IP of the other type is passed over", machine: host(),
			change: func(o *netaddr.Options) { o.IPType, o.LookupEnv = netaddr.IPv6, env("POD_IP", "10.9.0.1") },
			want:   want{"2001:db8::20", "", "eth0", scan},
		},
		{
			name: "named interface", machine: host(),
			change: func(o *netaddr.Options) { o.Interface = "eth1" },
			want:   want{"10.1.2.3", "", "eth1", named},
		},
		{
			name: "a named interface may be one that the scan leaves out", machine: host(),
			change: func(o *netaddr.Options) { o.Interface = "docker0" },
			want:   want{"172.17.0.1", "", "docker0", named},
		},
		{
			name: "a named interface may be loopback", machine: host(),
			change: func(o *netaddr.Options) { o.Interface = "lo" },
			want:   want{"127.0.0.1", "", "lo", named},
		},
		{
			name: "link-local never wins on a named interface", machine: host(),
			change: func(o *netaddr.Options) { o.Interface, o.IPType = "eth0", netaddr.IPv6 },
			want:   want{"2001:db8::20", "", "eth0", named},
		},
		{
			name: "IPv4 only", machine: host(),
			change: func(o *netaddr.Options) { o.IPType = "ipv4" },
			want:   want{"192.168.7.20", "", "eth0", scan},
		},
		{
			name: "IPv6 only", machine: host(),
			change: func(o *netaddr.Options) { o.IPType = "ipv6" },
			want:   want{"2001:db8::20", "", "eth0", scan},
		},
		{
			name: "IPv6 is wanted and there is none", machine: fake{up(2, "eth0", "10.0.0.2", "fe80::2")},
			change: func(o *netaddr.Options) { o.IPType = netaddr.IPv6 },
			want:   want{"10.0.0.2", "", "eth0", scan}, warns: true,
		},
		{
			name: "the machine has IPv6 only", machine: fake{loopback(up(1, "lo", "::1")), up(2, "eth0", "fe80::2", "2001:db8::2")},
			want: want{"2001:db8::2", "[2001:db8::2]", "eth0", scan},
		},
		{
			name: "IPv4 is wanted and there is none", machine: fake{up(2, "eth0", "2001:db8::2")},
			change: func(o *netaddr.Options) { o.IPType = netaddr.IPv4 },
			want:   want{"127.0.0.1", "", "", netaddr.RuleDefault}, warns: true,
		},
		{
			name: "unique-local and deprecated IPv6 are not global", machine: fake{up(2, "eth0", "fd00::2", "fec0::2", "10.0.0.2")},
			want: want{"10.0.0.2", "", "eth0", scan},
		},
		{
			name: "unique-local is taken where it is preferred", machine: fake{up(2, "eth0", "fd00::2", "2001:db8::2")},
			change: func(o *netaddr.Options) { o.PreferredNetworks = []string{"fd00::/8"} },
			want:   want{"fd00::2", "[fd00::2]", "eth0", scan},
		},
		{
			name: "everything is ignored", machine: host(),
			change: func(o *netaddr.Options) { o.IgnoredInterfaces = []string{".*"} },
			want:   want{"127.0.0.1", "", "", netaddr.RuleDefault}, warns: true,
		},
		{
			name: "the default is configured", machine: fake{},
			change: func(o *netaddr.Options) { o.DefaultIP = "192.0.2.1" },
			want:   want{"192.0.2.1", "", "", netaddr.RuleDefault}, warns: true,
		},
		{
			name: "the default is empty", machine: fake{},
			change: func(o *netaddr.Options) { o.DefaultIP = "" },
			want:   want{"127.0.0.1", "", "", netaddr.RuleDefault}, warns: true,
		},
		{
			name: "nothing is ignored when the list is emptied", machine: host(),
			change: func(o *netaddr.Options) { o.IgnoredInterfaces = nil },
			want:   want{"172.17.0.1", "[2001:db8::20]", "docker0", scan},
		},
		{
			name: "a pattern matches the whole name", machine: fake{up(2, "docker0", "172.17.0.1"), up(3, "dockerless", "10.0.0.3")},
			change: func(o *netaddr.Options) { o.IgnoredInterfaces = []string{"docker", "docker[0-9]", "less"} },
			want:   want{"10.0.0.3", "", "dockerless", scan},
		},
		{
			name: "preferred by CIDR", machine: host(),
			change: func(o *netaddr.Options) { o.PreferredNetworks = []string{"10.1.0.0/16"} },
			want:   want{"10.1.2.3", "", "eth1", scan},
		},
		{
			name: "preferred by CIDR with host bits", machine: host(),
			change: func(o *netaddr.Options) { o.PreferredNetworks = []string{"10.1.2.200/16"} },
			want:   want{"10.1.2.3", "", "eth1", scan},
		},
		{
			name: "preferred by prefix", machine: host(),
			change: func(o *netaddr.Options) { o.PreferredNetworks = []string{"10."} },
			want:   want{"10.1.2.3", "", "eth1", scan},
		},
		{
			name: "preferred by regular expression", machine: host(),
			change: func(o *netaddr.Options) { o.PreferredNetworks = []string{`192\.168\..*\.21`} },
			want:   want{"192.168.7.21", "", "eth0", scan},
		},
		{
			name: "an expression matches the whole address", machine: host(),
			change: func(o *netaddr.Options) { o.PreferredNetworks = []string{`168\.7`, `10\..*`} },
			want:   want{"10.1.2.3", "", "eth1", scan},
		},
		{
			name: "the order of preference wins over the index", machine: host(),
			change: func(o *netaddr.Options) { o.PreferredNetworks = []string{"10.1.0.0/16", "192.168.0.0/16", "2001:"} },
			want:   want{"10.1.2.3", "[2001:db8::20]", "eth1", scan},
		},
		{
			name: "no preferred network is there", machine: host(),
			change: func(o *netaddr.Options) { o.PreferredNetworks = []string{"198.51.100."} },
			want:   want{"127.0.0.1", "", "", netaddr.RuleDefault}, warns: true,
		},
		{
			name: "site-local only, and preferences are not consulted", machine: fake{up(2, "eth0", "203.0.113.2"), up(3, "eth1", "172.20.0.3")},
			change: func(o *netaddr.Options) { o.SiteLocalOnly, o.PreferredNetworks = true, []string{"203."} },
			want:   want{"172.20.0.3", "", "eth1", scan},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := defaults()
			if test.change != nil {
				test.change(&o)
			}
			got, err := netaddr.Select(o, test.machine)
			require.NoError(t, err)
			if diff := cmp.Diff(test.want, want{got.IP, got.IPv6, got.Interface, got.Rule}); diff != "" {
				t.Errorf("choice (-want +got):\n%s", diff)
			}
			require.Equal(t, test.warns, got.Warning != "", "warning: %q", got.Warning)
		})
	}
}

func TestBR1_SkipsWhatIsNotReachable(t *testing.T) {
	for name, i := range map[string]netaddr.Interface{
		"down":           down(up(2, "eth0", "10.0.0.2")),
		"loopback":       loopback(up(2, "dummy0", "10.0.0.2")),
		"point-to-point": pointToPoint(up(2, "wg0", "10.0.0.2")),
		"link-local":     up(2, "eth0", "169.254.3.4", "fe80::9"),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := netaddr.Select(defaults(), fake{i, up(3, "eth1", "10.0.0.3")})
			require.NoError(t, err)
			require.Equal(t, "10.0.0.3", got.IP)
			require.NotEmpty(t, got.Rejected)
			require.Equal(t, i.Name, got.Rejected[0].Interface)
			require.Contains(t, got.Rejected[0].Reason, name)
		})
	}
}

func TestBR1_DefaultIgnoredInterfaces(t *testing.T) {
	for _, name := range []string{
		"docker0", "veth1a2b", "br-5f6e", "cni0", "flannel.1", "virbr0",
		"vmnet8", "vboxnet0", "tun0", "utun3", "kube-ipvs0",
	} {
		got, err := netaddr.Select(defaults(), fake{up(2, name, "10.0.0.2"), up(3, "eth0", "10.0.0.3")})
		require.NoError(t, err)
		require.Equal(t, "10.0.0.3", got.IP, name)
	}
}

// TestCase02_ShuffleStable: the order in which a system lists its interfaces
// does not matter, only their index does.
func TestCase02_ShuffleStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machine := drawMachine(t)
		o := drawOptions(t)
		first, err := netaddr.Select(o, machine)
		require.NoError(t, err)
		second, err := netaddr.Select(o, fake(rapid.Permutation(machine).Draw(t, "shuffled")))
		require.NoError(t, err)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("another order gives another choice:\n%s", diff)
		}
	})
}

// TestBR1_ChoiceIsAnAddressOfTheMachine: whatever the interfaces are, the choice
// is one of their addresses that others can send to, or the default.
func TestBR1_ChoiceIsAnAddressOfTheMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machine := drawMachine(t)
		o := drawOptions(t)
		got, err := netaddr.Select(o, machine)
		require.NoError(t, err)
		if got.Rule == netaddr.RuleDefault {
			require.Equal(t, "127.0.0.1", got.IP)
			require.Empty(t, got.IPv6)
			return
		}
		addr := netip.MustParseAddr(got.IP)
		require.False(t, addr.IsLinkLocalUnicast() || addr.IsLoopback() || addr.IsUnspecified(), got.IP)
		for _, i := range machine {
			if i.Name == got.Interface {
				require.True(t, i.Up && !i.Loopback && !i.PointToPoint)
				require.Contains(t, i.Addrs, addr)
			}
		}
		if o.IPType == netaddr.IPv4 {
			require.True(t, addr.Is4())
		}
		if o.IPType != "" {
			require.Empty(t, got.IPv6)
		}
	})
}

func drawMachine(t *rapid.T) fake {
	addrs := rapid.SampledFrom([]string{
		"10.0.0.1", "10.2.0.1", "192.168.1.1", "203.0.113.1", "169.254.0.1", "127.0.0.1",
		"::1", "fe80::1", "fd00::1", "fec0::1", "2001:db8::1", "2001:db8::2",
	})
	names := []string{"lo", "eth0", "eth1", "docker0", "tun0", "ens3", "wlan0"}
	var machine fake
	for index, name := range rapid.Permutation(names).Draw(t, "names")[:rapid.IntRange(0, len(names)).Draw(t, "n")] {
		i := up(index+1, name, rapid.SliceOfN(addrs, 0, 4).Draw(t, name)...)
		i.Up = rapid.IntRange(0, 4).Draw(t, "up") > 0
		i.Loopback = name == "lo"
		i.PointToPoint = rapid.IntRange(0, 5).Draw(t, "ptp") == 0
		machine = append(machine, i)
	}
	return machine
}

func drawOptions(t *rapid.T) netaddr.Options {
	return defaults(func(o *netaddr.Options) {
		o.IPType = rapid.SampledFrom([]string{"", netaddr.IPv4, netaddr.IPv6}).Draw(t, "type")
		o.SiteLocalOnly = rapid.Bool().Draw(t, "site-local")
		o.PreferredNetworks = rapid.SliceOfN(rapid.SampledFrom([]string{
			"10.", "10.2.0.0/16", "192.168.0.0/16", "2001:db8::/32", `203\..*`, "fd00::/8",
		}), 0, 3).Draw(t, "preferred")
		if rapid.Bool().Draw(t, "ignore nothing") {
			o.IgnoredInterfaces = nil
		}
	})
}
