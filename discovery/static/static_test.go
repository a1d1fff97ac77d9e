package static_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery/discoverytest"
	"github.com/rollcall-go/rollcall/discovery/static"
	"github.com/rollcall-go/rollcall/registry"
)

func TestSource_Contract(t *testing.T) {
	discoverytest.Run(t, discoverytest.Harness{New: func(t *testing.T, content discoverytest.Catalogue) discoverytest.Subject {
		table := map[string][]registry.Instance{}
		for id, instances := range content {
			table[id.Grouped()] = instances
		}
		s, err := static.New(table)
		require.NoError(t, err)
		return discoverytest.Subject{Source: s}
	}})
}

func TestSource_PlainNameIsInEveryGroup(t *testing.T) {
	plain, grouped := registry.NewInstance(registry.ServiceID{}, "192.0.2.1", 80), registry.NewInstance(registry.ServiceID{}, "192.0.2.2", 80)
	s, err := static.New(map[string][]registry.Instance{"orders": {plain}, "PROD@@orders": {grouped}})
	require.NoError(t, err)
	for group, want := range map[string]string{"": plain.IP, "TEST": plain.IP, "PROD": grouped.IP} {
		id := registry.ServiceID{Namespace: "any", Group: group, Name: "orders"}
		l, err := s.Fetch(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, l.Instances, 1)
		require.Equal(t, want, l.Instances[0].IP)
		require.Equal(t, id.Normalize(), l.Instances[0].Service)
		names, err := s.Services(t.Context(), "any", group)
		require.NoError(t, err)
		require.Equal(t, []string{"orders"}, names)
	}
}

func TestNew_NamesEveryWrongEntry(t *testing.T) {
	bad := registry.NewInstance(registry.ServiceID{}, "", 0)
	bad.Weight = math.NaN()
	_, err := static.New(map[string][]registry.Instance{
		"orders": {registry.NewInstance(registry.ServiceID{}, "192.0.2.1", 80), bad},
		"@@x":    {},
		"a@@b@@": {},
		"":       {},
	})
	require.Error(t, err)
	for _, part := range []string{`instance 1 of service "orders"`, "not a host", "port 0", "weight NaN", `"@@x"`, `"a@@b@@"`, `service ""`} {
		require.ErrorContains(t, err, part)
	}
}

func TestParseInstance(t *testing.T) {
	for _, c := range []struct {
		text, host string
		port       int
		secure     bool
	}{
		{"192.0.2.1:8080", "192.0.2.1", 8080, false},
		{"[2001:db8::1]:8080", "2001:db8::1", 8080, false},
		{"orders.internal:80", "orders.internal", 80, false},
		{"http://orders", "orders", 80, false},
		{"https://orders/", "orders", 443, true},
		{"https://[2001:db8::1]:8443", "2001:db8::1", 8443, true},
	} {
		t.Run(c.text, func(t *testing.T) {
			i, err := static.ParseInstance(c.text)
			require.NoError(t, err)
			require.Equal(t, c.host, i.IP)
			require.Equal(t, c.port, i.Port)
			require.Equal(t, c.secure, i.Secure())
			require.True(t, i.Healthy && i.Enabled && i.Weight == 1)
		})
	}
	for _, text := range []string{
		"", "host", ":80", "host:", "host:0", "host:65536", "host:-1", "2001:db8::1:80", "ftp://host:21",
		"http://", "http://host/path", "http://host?q", "http://user@host", "http://host:x", "a b:80", "user@host:80", "host/x:80",
	} {
		t.Run("not "+text, func(t *testing.T) {
			_, err := static.ParseInstance(text)
			require.Error(t, err)
		})
	}
}

func FuzzParseInstance(f *testing.F) {
	f.Add("http://[::1]:80")
	f.Add("host:80")
	f.Fuzz(func(t *testing.T, text string) {
		i, err := static.ParseInstance(text)
		if err != nil {
			return
		}
		// What parses is an instance that the table takes.
		_, err = static.New(map[string][]registry.Instance{"s": {i}})
		require.NoError(t, err)
	})
}
