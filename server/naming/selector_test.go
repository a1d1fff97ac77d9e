package naming

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSelector(t *testing.T) {
	const label = "CONSUMER.label.A = PROVIDER.label.A & CONSUMER.label.B=PROVIDER.label.B"
	for text, want := range map[string]string{
		"":                `{"type":"none"}`,
		"  ":              `{"type":"none"}`,
		`{"type":"none"}`: `{"type":"none"}`,
		`{"type":"label","expression":"` + label + `"}`:                 `{"type":"label","expression":"` + label + `","labels":["A","B"]}`,
		`%7B%22type%22%3A%22label%22%2C%22expression%22%3A%22%20%22%7D`: `{"type":"label","expression":" ","labels":[]}`,
		`{"type":"label"}`: `{"type":"label","expression":"","labels":[]}`,
	} {
		s, err := ParseSelector(text)
		require.NoError(t, err, text)
		got, err := json.Marshal(s)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), text)
	}
	for text, why := range map[string]string{
		`{"type":"unknown"}`: "not match any type of selector!",
		`{}`:                 "not match any type of selector!",
		`nonsense`:           "not match any type of selector!",
		`{"type":"x"}`:       "No enum constant com.alibaba.nacos.api.selector.SelectorType.x",
		`{"type":"label","expression":"CONSUMER.label.A = PROVIDER.label.B"}`: "parse expression failed!",
		`{"type":"label","expression":"CONSUMER.label.A"}`:                    "parse expression failed!",
		`{"type":"label","expression":"A = A"}`:                               "parse expression failed!",
	} {
		_, err := ParseSelector(text)
		requireBadRequest(t, err, why)
	}
}

func TestListSelector(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("svc")
	require.NoError(t, s.CreateService(k, ServiceInfo{Metadata: map[string]string{"owner": "shop"}}))
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	require.NoError(t, s.Register(k, withMetadata(registration("192.0.2.1", 2), "zone", "a")))
	r := lookup(t, s, k)
	for text, want := range map[string]bool{
		"":                true,
		`{"type":"none"}`: true,
		`{"type":"label","expression":"INSTANCE.metadata.zone = 'a'"}`:    true,
		`{"type":"label","expression":"INSTANCE.metadata.zone = 'b'"}`:    false,
		`{"type":"label","expression":"INSTANCE.metadata.owner = shop"}`:  false,
		`{"type":"label","expression":"SERVICE.metadata.owner=\"shop\""}`: true,
		`{"type":"label","expression":"SERVICE.metadata.zone = 'a'"}`:     false,
	} {
		selector, err := ParseListSelector(text)
		require.NoError(t, err, text)
		require.Equal(t, want, selector.Match(r), text)
	}
	for text, why := range map[string]string{
		`{"type":"x"}`:                                    "No enum constant com.alibaba.nacos.api.selector.SelectorType.x",
		`{"type":"label","expression":"zone"}`:            "parse expression failed!",
		`{"type":"label","expression":"CLUSTER.a = 'b'"}`: "parse expression failed!",
	} {
		_, err := ParseListSelector(text)
		requireBadRequest(t, err, why)
	}
}

func FuzzSelectors(f *testing.F) {
	f.Add(`{"type":"label","expression":"CONSUMER.label.A = PROVIDER.label.A"}`)
	f.Add(`{"type":"label","expression":"INSTANCE.metadata.zone = 'a'"}`)
	f.Add(`%7B%22type%22%3A%22none%22%7D`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSelector(text)
		if err != nil {
			requireBadRequest(t, err, "")
		}
		_, err = json.Marshal(s)
		require.NoError(t, err)
		if _, err := ParseListSelector(text); err != nil {
			requireBadRequest(t, err, "")
		}
	})
}
