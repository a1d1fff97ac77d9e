package config

import (
	"encoding/json"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type shownBlock struct {
	Name     string
	Password string
	Token    string
	Wait     time.Duration
	Addr     netip.Addr
	Ports    []int
	Users    []shownUser
	Labels   map[string]string
	Clients  map[string]map[string]any
}

type shownUser struct {
	Name   string
	Secret string
}

func TestEffective_ShowsValuesOriginsAndNoSecret(t *testing.T) {
	d := shownBlock{Token: "", Wait: time.Second}
	c, err := Load(Sources{
		Text: "app:\n  password: p1\n  addr: 192.0.2.1\n  ports: [1, 2]\n" +
			"  users: [{name: ann, secret: p2}]\n  labels: {Api-Token: p3, Zone: a}\n  clients: {Svc: {retry: {token: p4, max: 2}}}\n",
		Properties: []Setting{{Key: "app.name", Value: "x"}},
	}, Block{"app", &d})
	require.NoError(t, err)
	require.NoError(t, c.Err())
	shown, origins := map[string]any{}, map[string]string{}
	for _, e := range c.Effective() {
		shown[e.Key], origins[e.Key] = e.Shown(), e.Origin
	}
	text, err := json.Marshal(shown)
	require.NoError(t, err)
	require.JSONEq(t, `{"app.name":"x","app.password":"******","app.token":"","app.wait":"1s","app.addr":"192.0.2.1","app.ports":[1,2],
		"app.users":[{"name":"ann","secret":"******"}],"app.labels":{"Api-Token":"******","Zone":"a"},
		"app.clients":{"Svc":{"retry":{"token":"******","max":"2"}}}}`, string(text))
	require.Equal(t, "property", origins["app.name"])
	require.Equal(t, "ConfigYAML:2", origins["app.password"])
	require.Empty(t, origins["app.wait"])
}

func TestEffective_HeadersOfTracingAreSecretWhateverTheirName(t *testing.T) {
	type block struct{ Headers map[string]string }
	for text, want := range map[string]any{
		"otlp.tracing: {headers: {X-Team: p1}}": masked,
		"otlp.tracing: {}":                      map[string]any{},
	} {
		c, err := Load(Sources{Text: text}, Block{"otlp.tracing", &block{}})
		require.NoError(t, err)
		require.Len(t, c.Effective(), 1)
		require.Equal(t, want, c.Effective()[0].Shown())
		require.NotContains(t, c.Effective()[0].Text(), "p1")
	}
}

type nestedBlock struct {
	Size    int
	Retry   struct{ Max int }
	Clients map[string]map[string]any
}

func TestLoad_NestedMapsByFlatKeys(t *testing.T) {
	var d nestedBlock
	c, err := Load(Sources{
		Text:       "app.clients.a.size: 1\napp.clients: {a: {retry.max: 2}, 'b.c': {size: 3}}\napp.clients.b.c.retry.max: 4\napp.clients.d.nothing: 5\n",
		Properties: []Setting{{Key: "app.clients.a.size", Value: 6}, {Key: "app.clients.e.retry", Value: map[string]any{"max": 7}}},
	}, Block{"app", &d})
	require.NoError(t, err)
	require.NoError(t, c.Err())
	require.Equal(t, map[string]map[string]any{
		"a":   {"size": "6", "retry.max": "2"},
		"b.c": {"size": "3", "retry.max": "4"},
		"d":   {"nothing": "5"},
		"e":   {"retry": map[string]any{"max": "7"}},
	}, d.Clients)

	c, err = Load(Sources{Text: "app.clients.a.size: 1\napp.clients.a.size: 2\n"}, Block{"app", &d})
	require.NoError(t, err)
	require.ErrorContains(t, c.Err(), "is set twice, first at ConfigYAML:1")
}

func TestLoad_ComputedPlaceholders(t *testing.T) {
	var d struct{ Name, Other, Bad string }
	compute := map[string]Compute{
		"host.name": func(value func(string) (string, error)) (string, error) {
			name, err := value("app.name")
			return "host-of-" + name, err
		},
		"host.bad": func(func(string) (string, error)) (string, error) { return "", errors.New("no host") },
	}
	c, err := Load(Sources{Text: "app: {name: x, other: '${host.name}'}\n", Computed: compute}, Block{"app", &d})
	require.NoError(t, err)
	require.NoError(t, c.Err())
	require.Equal(t, "host-of-x", d.Other)

	c, err = Load(Sources{Text: "app: {name: '${host.name}', bad: '${host.bad}'}\n", Computed: compute}, Block{"app", &d})
	require.NoError(t, err)
	require.ErrorContains(t, c.Err(), "placeholders refer to each other")
	require.ErrorContains(t, c.Err(), "no host")
}
