package naming

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseHealthChecker(t *testing.T) {
	for text, want := range map[string]struct{ kind, document string }{
		`{"type":"TCP"}`:                       {CheckerTCP, `{"type":"TCP"}`},
		` { "type" : "NONE" } `:                {CheckerNone, `{"type":"NONE"}`},
		`{"type":"HTTP","path":"/ok","x":[1]}`: {CheckerHTTP, `{"type":"HTTP","path":"/ok","x":[1]}`},
		`{"user":"u","type":"MYSQL"}`:          {CheckerMySQL, `{"user":"u","type":"MYSQL"}`},
		`{"type":"tcp"}`:                       {CheckerNone, `{"type":"tcp"}`},
		`{"type":"SMTP"}`:                      {CheckerNone, `{"type":"SMTP"}`},
	} {
		h, err := ParseHealthChecker(text)
		require.NoError(t, err, text)
		require.Equal(t, want.kind, h.Type(), text)
		encoded, err := json.Marshal(h)
		require.NoError(t, err)
		require.JSONEq(t, want.document, string(encoded))
		require.Equal(t, want.document, h.Document())
		var back HealthChecker
		require.NoError(t, json.Unmarshal(encoded, &back))
		require.Equal(t, h.Type(), back.Type())
	}
	for _, text := range []string{"", "TCP", "null", "{}", `{"type":null}`, `{"type":1}`, `["TCP"]`, `{"type":"TCP"`, `{"type":"TCP"}x`} {
		_, err := ParseHealthChecker(text)
		requireBadRequest(t, err, "health checker incorrect")
	}
	var zero HealthChecker
	require.Equal(t, CheckerTCP, zero.Type())
	require.Equal(t, `{"type":"TCP"}`, zero.Document())
	require.Error(t, json.Unmarshal([]byte(`{"checker":{}}`), &struct{ Checker *HealthChecker }{}))
}

func TestClusterInfo_SurvivesJSON(t *testing.T) {
	checker, err := ParseHealthChecker(`{"type":"HTTP","headers":"a:b|c:d"}`)
	require.NoError(t, err)
	for _, info := range []ClusterInfo{
		DefaultClusterInfo(),
		{Checker: checker, CheckPort: 8080, Metadata: map[string]string{"a": "<b>"}},
	} {
		encoded, err := json.Marshal(info)
		require.NoError(t, err)
		var back ClusterInfo
		require.NoError(t, json.Unmarshal(encoded, &back))
		require.Equal(t, info.Checker.Document(), back.Checker.Document())
		info.Checker, back.Checker = HealthChecker{}, HealthChecker{}
		require.Equal(t, info, back)
	}
}

func TestCluster_SettingsMakeAndKeepAService(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("clustered")
	require.ErrorIs(t, s.CheckCluster(k, "A", DefaultClusterInfo()), ErrServiceNotFound)
	requireBadRequest(t, s.CheckCluster(k, "A", DefaultClusterInfo()), "service not found:DEFAULT_GROUP@@clustered")
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	require.NoError(t, s.CheckCluster(k, "A", DefaultClusterInfo()))
	requireBadRequest(t, s.CheckCluster(k, "a b", DefaultClusterInfo()), "cluster name can only have")
	requireBadRequest(t, s.ApplyCluster(k, "a b", DefaultClusterInfo()), "cluster name can only have")
	requireBadRequest(t, s.CheckCluster(k, "A", ClusterInfo{CheckPort: 70000}), "port")

	r := lookup(t, s, k)
	require.NoError(t, s.ApplyCluster(k, "A", ClusterInfo{CheckPort: 1}))
	require.NoError(t, s.ApplyCluster(k, "", ClusterInfo{CheckPort: 2}))
	require.Equal(t, []string{"DEFAULT"}, r.Clusters(), "an older revision stays as it was")
	now := lookup(t, s, k)
	require.Equal(t, []string{"A", "DEFAULT"}, now.Clusters())
	require.Equal(t, 1, now.ClusterInfo("A").CheckPort)
	require.Equal(t, 2, now.ClusterInfo("DEFAULT").CheckPort)
	require.Equal(t, DefaultClusterInfo(), now.ClusterInfo("B"))
	require.Equal(t, r.Checksum(), now.Checksum(), "lists do not show it")

	alone := serviceKey("alone")
	require.NoError(t, s.ApplyCluster(alone, "A", DefaultClusterInfo()))
	require.Equal(t, []string{"A"}, lookup(t, s, alone).Clusters())
	require.NoError(t, s.RemoveService(k))
	_, err := s.Beat(k, at("192.0.2.1", 1), nil)
	require.NoError(t, err)
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	require.Equal(t, DefaultClusterInfo(), lookup(t, s, k).ClusterInfo("A"), "gone with the service")
}

func FuzzHealthChecker(f *testing.F) {
	f.Add(`{"type":"HTTP","path":"/ok"}`)
	f.Add(`{"type":"TCP"}x`)
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHealthChecker(text)
		if err != nil {
			requireBadRequest(t, err, "")
			return
		}
		back, err := ParseHealthChecker(h.Document())
		require.NoError(t, err)
		require.Equal(t, h, back)
		_, err = json.Marshal(h)
		require.NoError(t, err)
	})
}
