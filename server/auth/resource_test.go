package auth

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuthorize(t *testing.T) {
	f := start(t)
	f.people.allow("app", "dev:*:*", "r")
	f.people.allow("app", ":ORDERS:naming/*", "rw")
	f.people.allow("app", "public:DEFAULT_GROUP:naming/pay", "w")
	f.people.allow("app", "test:DEFAULT_GROUP:naming/a.b", "r")
	f.people.allow("app", "console/*", "rw")
	f.people.allow("app", "odd:*:*", "")
	f.people.allow("app", "*:BILLS:naming/*", "r")
	f.people.allow("other", "*:*:*", "rw")
	f.people.set("", "", AdminRole) // whoever has no name is nobody, whatever is stored

	admin, app, idle := Principal{Name: "admin"}, Principal{Name: "app"}, Principal{Name: "idle"}
	for _, tt := range []struct {
		name     string
		who      Principal
		resource Resource
		action   Action
		want     error
	}{
		{"namespace wildcard", app, NamingResource("dev", "DEFAULT_GROUP", "orders"), Read, nil},
		{"the whole namespace", app, NamingResource("dev", "DEFAULT_GROUP", ""), Read, nil},
		{"action that is not given", app, NamingResource("dev", "DEFAULT_GROUP", "orders"), Write, ErrNotAuthorized},
		{"matches from the start", app, NamingResource("xdev", "DEFAULT_GROUP", "orders"), Read, ErrNotAuthorized},
		{"matches to the end", app, NamingResource("public", "DEFAULT_GROUP", "payment"), Write, ErrNotAuthorized},
		{"public is empty", app, NamingResource("public", "ORDERS", "x"), Write, nil},
		{"empty is public", app, NamingResource("", "DEFAULT_GROUP", "pay"), Write, nil},
		{"group", app, NamingResource("", "ORDERS2", "x"), Read, ErrNotAuthorized},
		{"a group is not the namespace", app, NamingResource("", "", ""), Read, ErrNotAuthorized},
		{"a dot is a dot", app, NamingResource("test", "DEFAULT_GROUP", "axb"), Read, ErrNotAuthorized},
		{"a dot is that dot", app, NamingResource("test", "DEFAULT_GROUP", "a.b"), Read, nil},
		{"no action in the permission", app, NamingResource("odd", "g", "s"), Read, ErrNotAuthorized},
		{"unknown action", app, NamingResource("dev", "g", "s"), "", ErrNotAuthorized},
		{"both actions are none", app, NamingResource("", "ORDERS", "x"), "rw", ErrNotAuthorized},
		{"service names with colons", app, NamingResource("dev", "DEFAULT_GROUP", "providers:com.x.Api:1.0:"), Read, nil},
		{"namespace that reads like another", app, NamingResource("dev:x", "g", "s"), Read, ErrNotAuthorized},
		{"group that reads like another", app, NamingResource("", "ORDERS:naming/x", "s"), Read, ErrNotAuthorized},
		{"a part of its own", app, NamingResource("any", "BILLS", "x"), Read, nil},
		{"a wildcard ends at its colon", app, NamingResource("any", "G", "x:BILLS:naming/y"), Read, ErrNotAuthorized},
		{"switches", app, SwitchesResource(), Write, ErrNotAuthorized},
		{"what only administrators may", app, AdminResource("console/users"), Read, ErrNotAuthorized},
		{"no resource", app, Resource{}, Read, ErrResourceInvalid},

		{"no role", idle, NamingResource("dev", "g", "s"), Read, ErrNotAuthorized},
		{"unknown user", Principal{Name: "nobody"}, NamingResource("dev", "g", "s"), Read, ErrNotAuthorized},
		{"nobody", Principal{}, NamingResource("dev", "g", "s"), Read, ErrNotAuthorized},

		{"administrator", admin, NamingResource("any", "g", "s"), Write, nil},
		{"administrator, switches", admin, SwitchesResource(), Write, nil},
		{"administrator, users", admin, AdminResource("console/users"), Write, nil},
		{"administrator, odd namespace", admin, NamingResource("a:b", "g", "s"), Write, nil},
		{"administrator, no resource", admin, Resource{}, Read, ErrResourceInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.ErrorIs(t, f.Authorize(tt.who, tt.resource, tt.action), tt.want)
		})
	}
	require.EqualError(t, f.Authorize(idle, SwitchesResource(), Write), "authorization failed!")
	require.EqualError(t, f.Authorize(idle, Resource{}, Write), "resource name invalid!")
	require.True(t, f.IsAdmin(admin))
	require.False(t, f.IsAdmin(app))
}

// A change of roles and permissions holds at once.
func TestAuthorize_ChangesHoldAtOnce(t *testing.T) {
	f := start(t)
	app, r := Principal{Name: "app"}, NamingResource("", "DEFAULT_GROUP", "orders")
	require.ErrorIs(t, f.Authorize(app, r, Write), ErrNotAuthorized)
	f.people.allow("app", ":*:*", "rw")
	require.NoError(t, f.Authorize(app, r, Write))
	f.people.set("app", "app-secret")
	require.ErrorIs(t, f.Authorize(app, r, Write), ErrNotAuthorized)
	f.people.set("app", "app-secret", AdminRole)
	require.NoError(t, f.Authorize(app, SwitchesResource(), Write))
}

func TestNamingResource(t *testing.T) {
	require.Equal(t, ":DEFAULT_GROUP:naming/orders", NamingResource("public", "DEFAULT_GROUP", "orders").String())
	require.Equal(t, "dev:G:naming/orders", NamingResource("dev", "G", "orders").String())
	require.Equal(t, "dev:*:naming/*", NamingResource("dev", "G", "").String())
	require.Equal(t, ":*:naming/*", NamingResource("", "", "").String())
	require.Equal(t, "naming/switches", SwitchesResource().String())
}

func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"*", ""},
		{"", ""},
		{"", "a"},
		{"a*b*c", "aXbYc"},
		{"*:*:*", "dev:g:naming/s"},
		{":*:*", "dev:g:naming/s"},
		{"a.b", "axb"},
		{"**a", "ba"},
		{"*a", "ab"},
		{strings.Repeat("*a", 20), strings.Repeat("a", 19)},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 200 || len(text) > 200 {
			return
		}
		expression := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(toASCII(pattern)), `\*`, ".*") + "$"
		require.Equal(t, regexp.MustCompile(expression).MatchString(toASCII(text)), match(toASCII(pattern), toASCII(text)))
	})
}

// toASCII keeps the regular expression of the comparison bytewise.
func toASCII(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] &= 0x7f
	}
	return string(b)
}
