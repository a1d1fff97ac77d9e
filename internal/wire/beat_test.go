package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseBeat(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Beat
	}{
		"Java": {
			`{"cluster":"DEFAULT","ip":"10.0.0.7","metadata":{"v":"1"},"period":5000,"port":8080,"scheduled":false,` +
				`"serviceName":"DEFAULT_GROUP@@orders","stopped":false,"weight":1.0}`,
			Beat{
				IP: "10.0.0.7", Port: 8080, Cluster: "DEFAULT", ServiceName: "DEFAULT_GROUP@@orders", Weight: 1,
				Metadata: map[string]string{"v": "1"}, Ephemeral: true, Period: 5000,
			},
		},
		"Python, no metadata": {
			`{"serviceName": "s", "ip": "10.0.0.7", "port": "8080", "weight": "1.5", "metadata": null, "scheduled": true, "cluster": null, "ephemeral": "True"}`,
			Beat{IP: "10.0.0.7", Port: 8080, ServiceName: "s", Weight: 1.5, Metadata: map[string]string{}, Ephemeral: true, Scheduled: true},
		},
		"persistent":         {`{"ip":"a","port":1,"ephemeral":false}`, Beat{IP: "a", Port: 1, Metadata: map[string]string{}}},
		"not an object":      {`null`, Beat{Metadata: map[string]string{}, Ephemeral: true}},
		"unknown members":    {`{"ip":"a","qps":1,"load":{"x":[1]}}`, Beat{IP: "a", Metadata: map[string]string{}, Ephemeral: true}},
		"numbers as strings": {`{"ip":" a ","port":1.0,"metadata":{"n":5}}`, Beat{IP: "a", Port: 1, Metadata: map[string]string{"n": "5"}, Ephemeral: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseBeat(c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, *got)
		})
	}
	for text, why := range map[string]string{
		"":                      "beat format incorrect",
		"{":                     "beat format incorrect",
		`"x"`:                   "beat format incorrect",
		`{"port":"x"}`:          "not an integer",
		`{"port":1.5}`:          "not an integer",
		`{"port":70000}`:        "ports range",
		`{"weight":"NaN"}`:      "not a number",
		`{"ephemeral":"maybe"}`: "not a boolean",
		`{"metadata":{"a":{}}}`: "nested values",
		`{"metadata":"k=v"}`:    "beat format incorrect",
		`{"ip":5}`:              "beat format incorrect",
	} {
		_, err := ParseBeat(text)
		requireBadRequest(t, err, why)
	}
}

func TestSB03_NumbersOfABeatAreThoseOfParameters(t *testing.T) {
	for text, why := range map[string]string{
		`{"ip":"a","port":""}`:                 "not an integer",
		`{"ip":"a","port":" "}`:                "not an integer",
		`{"ip":"a","port":"1_000"}`:            "not an integer",
		`{"ip":"a","port":"0x50"}`:             "not an integer",
		`{"ip":"a","port":"0x1p4"}`:            "not an integer",
		`{"ip":"a","port":"Infinity"}`:         "not an integer",
		`{"ip":"a","port":1,"weight":"1_0"}`:   "not a number",
		`{"ip":"a","port":1,"weight":"0x1p4"}`: "not a number",
		`{"ip":"a","port":1,"weight":1e309}`:   "not a number",
	} {
		_, err := ParseBeat(text)
		requireBadRequest(t, err, why)
	}
}

func TestSB06_WhatServersIgnoreOfABeatIsNoReasonToRefuseIt(t *testing.T) {
	want := Beat{IP: "a", Port: 1, Metadata: map[string]string{}, Ephemeral: true}
	for _, member := range []string{
		`"serviceName":5`, `"serviceName":{"a":[1]}`, `"serviceName":null`, `"scheduled":"maybe"`, `"scheduled":[]`,
		`"period":"5s"`, `"period":1.5`, `"period":{}`, `"stopped":"x"`, `"stopped":null`,
	} {
		got, err := ParseBeat(`{"ip":"a",` + member + `,"port":1}`)
		require.NoError(t, err, member)
		require.Equal(t, want, *got, member)
	}
}

func TestBeat_RoundTrips(t *testing.T) {
	b := Beat{
		IP: "2001:db8::1", Port: 1, Cluster: "C", ServiceName: "G@@s", Weight: 2, Ephemeral: true, Scheduled: true,
		Period: 5000, Stopped: true, Metadata: map[string]string{"a": `"`, "b": "你"},
	}
	text, err := json.Marshal(b)
	require.NoError(t, err)
	require.Contains(t, string(text), `"weight":2.0`)
	got, err := ParseBeat(string(text))
	require.NoError(t, err)
	require.Equal(t, b, *got)
}

func FuzzParseBeat(f *testing.F) {
	f.Add(`{"ip":"10.0.0.7","port":8080,"metadata":{"v":"1"},"weight":1.0}`)
	f.Add(`{"port":"x","ephemeral":"True"}`)
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBeat(text)
		if err != nil {
			requireBadRequest(t, err, "")
			return
		}
		require.NoError(t, CheckPort(b.Port))
		require.NotNil(t, b.Metadata)
		encoded, err := json.Marshal(b)
		require.NoError(t, err)
		_, err = ParseBeat(string(encoded))
		require.NoError(t, err)
	})
}

func TestBeatReply(t *testing.T) {
	known := AppendKnownReply(nil, 5000, true)
	require.Equal(t, `{"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, string(known))
	unknown := AppendUnknownReply(nil, 5000)
	require.Equal(t, `{"clientBeatInterval":5000,"code":20404}`, string(unknown))

	var r BeatReply
	require.NoError(t, json.Unmarshal(known, &r))
	require.Equal(t, CodeOK, r.Code)
	require.True(t, r.LightBeat())
	again, err := json.Marshal(r)
	require.NoError(t, err)
	require.Equal(t, string(known), string(again))

	r = BeatReply{}
	require.NoError(t, json.Unmarshal(unknown, &r))
	require.Equal(t, CodeResourceNotFound, r.Code)
	require.False(t, r.LightBeat(), "missing is false")
	again, err = json.Marshal(r)
	require.NoError(t, err)
	require.Equal(t, string(unknown), string(again))
}
