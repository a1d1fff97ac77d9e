package registry_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

func TestCase03_ExplicitAddressWins(t *testing.T) {
	f := newFakeRegistry()
	auto := newAuto(t, f, func(p *autoParams) { p.Registration.IP, p.Registration.Port = "127.0.0.9", 9999 })
	listening(t, auto, 43210)
	require.NoError(t, auto.Start(t.Context()))
	require.Equal(t, "127.0.0.9:9999", f.only(t).Address())
	require.NoError(t, auto.Stop(t.Context()))
}

func TestCase04_ManagementServerIsIgnored(t *testing.T) {
	for _, when := range []registry.RegisterWhen{registry.WhenReady, registry.WhenListening} {
		t.Run(string(when), func(t *testing.T) {
			f := newFakeRegistry()
			auto := newAuto(t, f, func(p *autoParams) {
				p.Options.When = when
				p.Registration.Metadata = map[string]string{registry.MetadataManagementPort: "9090"}
			})
			require.NoError(t, auto.OnWebServerStarted(t.Context(), webServer(registry.NamespaceManagement, 9090)))
			require.Empty(t, f.all())
			listening(t, auto, 8080)
			listening(t, auto, 8081) // a second server of the application changes nothing
			require.NoError(t, auto.Start(t.Context()))
			require.Equal(t, 8080, f.only(t).Port)
			require.Equal(t, "9090", f.only(t).Metadata[registry.MetadataManagementPort])
			require.NoError(t, auto.Stop(t.Context()))
		})
	}
}

func TestAR3_AManagementServerAloneIsNoWebServer(t *testing.T) {
	f := newFakeRegistry()
	auto := newAuto(t, f)
	require.NoError(t, auto.OnWebServerStarted(t.Context(), webServer(registry.NamespaceManagement, 9090)))
	require.NoError(t, auto.Start(t.Context()))
	require.Empty(t, f.all(), "its port is not the application's")
	require.NoError(t, auto.Stop(t.Context()))
}

func TestCase05_PortZeroNeverLeaves(t *testing.T) {
	t.Run("the listener's port", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		f := newFakeRegistry()
		auto := newAuto(t, f)
		require.NoError(t, auto.OnWebServerStarted(t.Context(), registry.WebServerStarted{Addr: l.Addr()}))
		require.NoError(t, auto.Start(t.Context()))
		require.Equal(t, l.Addr().(*net.TCPAddr).Port, f.only(t).Port)
		require.NoError(t, auto.Stop(t.Context()))
	})
	t.Run("an impossible template", func(t *testing.T) {
		for _, bad := range []int{-1, 65536} {
			_, err := registry.NewAutoServiceRegistration(params(newFakeRegistry(), func(p *autoParams) { p.Registration.Port = bad }))
			require.ErrorContains(t, err, "cloud.nacos.discovery.port")
		}
	})
	t.Run("a customizer that breaks it", func(t *testing.T) {
		f := newFakeRegistry()
		auto := newAuto(t, f, func(p *autoParams) {
			p.Options.FailFast = false // no attempt can succeed, so the start fails all the same
			p.Customizers = []registry.Customizer{{Name: "zero", Customize: func(r *registry.Registration) error { r.Port = 0; return nil }}}
		})
		listening(t, auto, 8080)
		err := auto.Start(t.Context())
		require.ErrorIs(t, err, registry.ErrInvalidRegistration)
		require.ErrorContains(t, err, "cloud.nacos.discovery.port 0")
		require.Empty(t, f.all())
		require.NoError(t, auto.Stop(t.Context()))
	})
	t.Run("no port at all", func(t *testing.T) {
		f := newFakeRegistry()
		auto := newAuto(t, f)
		require.ErrorIs(t, auto.Register(t.Context()), registry.ErrInvalidRegistration)
		require.Empty(t, f.all())
		require.NoError(t, auto.Stop(t.Context()))
	})
}

func TestAR2_PortOfOtherListeners(t *testing.T) {
	tests := map[string]struct {
		addr net.Addr
		want int
	}{
		"named":       {textAddr("pipe:8080"), 8080},
		"IPv6":        {textAddr("[::1]:81"), 81},
		"Unix socket": {&net.UnixAddr{Name: "/run/app.sock"}, 0},
		"not a port":  {textAddr("host:http"), 0},
		"too large":   {textAddr("host:65536"), 0},
		"none":        {nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFakeRegistry()
			auto := newAuto(t, f)
			require.NoError(t, auto.OnWebServerStarted(t.Context(), registry.WebServerStarted{Addr: test.addr}))
			require.NoError(t, auto.Start(t.Context()))
			if test.want == 0 {
				require.Empty(t, f.all())
			} else {
				require.Equal(t, test.want, f.only(t).Port)
			}
			require.NoError(t, auto.Stop(t.Context()))
		})
	}
}

// What a customizer makes of the address is held to the same rules as what is
// configured.
func TestCase02_AnAddressThatNobodyCanReachIsRefused(t *testing.T) {
	for _, ip := range []string{"0.0.0.0", "::", "224.0.0.1", "fe80::1%eth0", " 10.0.0.1", "host:80", "a b", "http://10.0.0.1"} {
		f := newFakeRegistry()
		auto := newAuto(t, f, func(p *autoParams) {
			p.Customizers = []registry.Customizer{{Name: "ip", Customize: func(r *registry.Registration) error { r.IP = ip; return nil }}}
		})
		listening(t, auto, 8080)
		err := auto.Start(t.Context())
		require.ErrorIs(t, err, registry.ErrInvalidRegistration, ip)
		require.ErrorContains(t, err, "cloud.nacos.discovery.ip")
		require.Empty(t, f.all())
		require.NoError(t, auto.Stop(t.Context()))
	}
	for _, ip := range []string{"[::1]", "2001:db8::1", "orders.example.com", "my_host"} {
		f := newFakeRegistry()
		auto := started(t, f, func(p *autoParams) { p.Registration.IP = ip })
		require.Equal(t, ip, f.only(t).IP)
		require.NoError(t, auto.Stop(t.Context()))
	}
}

type textAddr string

func (a textAddr) Network() string { return "text" }
func (a textAddr) String() string  { return string(a) }
