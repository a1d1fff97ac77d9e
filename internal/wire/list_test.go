package wire

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const javaList = `{"hosts":[{"ip":"10.0.0.7","port":8080,"valid":true,"healthy":true,"marked":false,` +
	`"instanceId":"10.0.0.7#8080#DEFAULT#DEFAULT_GROUP@@orders","metadata":{"version":"2"},"enabled":true,"weight":1.0,` +
	`"clusterName":"DEFAULT","serviceName":"DEFAULT_GROUP@@orders","ephemeral":true}],` +
	`"dom":"DEFAULT_GROUP@@orders","name":"DEFAULT_GROUP@@orders","cacheMillis":10000,"lastRefTime":1614585600000,` +
	`"checksum":"5f1c2a9e0c1b4c0f8e6a7b3d2c1f0a9e","useSpecifiedURL":false,"clusters":"","env":"","metadata":{},` +
	`"reachProtectionThreshold":true}`

func TestServiceList_TheBytesOfNacos(t *testing.T) {
	var l ServiceList
	require.NoError(t, json.Unmarshal([]byte(javaList), &l))
	require.True(t, l.ReachProtectionThreshold)
	require.Equal(t, int64(1614585600000), l.LastRefTime)
	got, err := json.Marshal(l)
	require.NoError(t, err)
	require.Equal(t, javaList, string(got))
}

// plainHost and plainList are what the encoding would be if encoding/json did it.
type plainHost struct {
	IP          string            `json:"ip"`
	Port        int               `json:"port"`
	Valid       bool              `json:"valid"`
	Healthy     bool              `json:"healthy"`
	Marked      bool              `json:"marked"`
	InstanceID  string            `json:"instanceId"`
	Metadata    map[string]string `json:"metadata"`
	Enabled     bool              `json:"enabled"`
	Weight      Float             `json:"weight"`
	ClusterName string            `json:"clusterName"`
	ServiceName string            `json:"serviceName"`
	Ephemeral   bool              `json:"ephemeral"`
	Beat        int64             `json:"instanceHeartBeatInterval"`
	Timeout     int64             `json:"instanceHeartBeatTimeOut"`
	Delete      int64             `json:"ipDeleteTimeout"`
}

type plainList struct {
	Hosts                    []plainHost       `json:"hosts"`
	Dom                      string            `json:"dom"`
	Name                     string            `json:"name"`
	CacheMillis              int64             `json:"cacheMillis"`
	LastRefTime              int64             `json:"lastRefTime"`
	Checksum                 string            `json:"checksum"`
	UseSpecifiedURL          bool              `json:"useSpecifiedURL"`
	Clusters                 string            `json:"clusters"`
	Env                      string            `json:"env"`
	Metadata                 map[string]string `json:"metadata"`
	ReachProtectionThreshold bool              `json:"reachProtectionThreshold"`
}

func TestServiceList_IsWhatEncodingJSONWouldSay(t *testing.T) {
	texts, metadata := rapid.String(), rapid.MapOfN(rapid.String(), rapid.String(), 0, 20)
	millis := func(t *rapid.T, name string) time.Duration {
		return time.Duration(rapid.Int64Range(1000, 86_400_000).Draw(t, name)) * time.Millisecond
	}
	hosts := rapid.Custom(func(t *rapid.T) Host {
		healthy := rapid.Bool().Draw(t, "healthy")
		return Host{
			IP: texts.Draw(t, "ip"), Port: rapid.IntRange(0, 65535).Draw(t, "port"), Valid: healthy, Healthy: healthy,
			Marked: rapid.Bool().Draw(t, "marked"), InstanceID: texts.Draw(t, "id"), Metadata: metadata.Draw(t, "metadata"),
			Enabled: rapid.Bool().Draw(t, "enabled"), Weight: rapid.Float64Range(0, 10000).Draw(t, "weight"),
			ClusterName: texts.Draw(t, "cluster"), ServiceName: texts.Draw(t, "service"), Ephemeral: rapid.Bool().Draw(t, "ephemeral"),
			Intervals: Intervals{Beat: millis(t, "beat"), Timeout: millis(t, "timeout"), Delete: millis(t, "delete")},
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		l := ServiceList{
			Hosts: rapid.SliceOfN(hosts, 0, 4).Draw(t, "hosts"), Dom: texts.Draw(t, "dom"), Name: texts.Draw(t, "name"),
			CacheMillis: rapid.Int64().Draw(t, "cache"), LastRefTime: rapid.Int64().Draw(t, "time"),
			Checksum: texts.Draw(t, "sum"), UseSpecifiedURL: rapid.Bool().Draw(t, "url"), Clusters: texts.Draw(t, "clusters"),
			Env: texts.Draw(t, "env"), Metadata: metadata.Draw(t, "metadata"), ReachProtectionThreshold: rapid.Bool().Draw(t, "reach"),
		}
		plain := plainList{
			Hosts: []plainHost{}, Dom: l.Dom, Name: l.Name, CacheMillis: l.CacheMillis, LastRefTime: l.LastRefTime,
			Checksum: l.Checksum, UseSpecifiedURL: l.UseSpecifiedURL, Clusters: l.Clusters, Env: l.Env, Metadata: l.Metadata,
			ReachProtectionThreshold: l.ReachProtectionThreshold,
		}
		for _, h := range l.Hosts {
			plain.Hosts = append(plain.Hosts, plainHost{
				h.IP, h.Port, h.Valid, h.Healthy, h.Marked, h.InstanceID, h.Metadata, h.Enabled, Float(h.Weight),
				h.ClusterName, h.ServiceName, h.Ephemeral,
				h.Intervals.Beat.Milliseconds(), h.Intervals.Timeout.Milliseconds(), h.Intervals.Delete.Milliseconds(),
			})
		}
		got := EncodeList(l, slices.Values(l.Hosts)).Append(nil, l.CacheMillis, l.LastRefTime)
		want, err := json.Marshal(plain)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got))

		var back ServiceList
		require.NoError(t, json.Unmarshal(got, &back))
		require.Equal(t, l, back)
	})
}

func TestServiceList_DecodesWhatOthersSend(t *testing.T) {
	var l ServiceList
	require.NoError(t, json.Unmarshal([]byte(`{"name":"G@@s","clusters":"","cacheMillis":10000,"hosts":[]}`), &l))
	require.NotNil(t, l.Hosts)
	require.Empty(t, l.Hosts)
	require.Equal(t, int64(10000), l.CacheMillis)

	require.NoError(t, json.Unmarshal([]byte(`{"hosts":[{"ip":"a","port":8080.0,"metadata":null,"weight":2,"extra":[1]}],`+
		`"cacheMillis":3000.0,"lastRefTime":"1614585600000","allIPs":false,"groupName":"G"}`), &l))
	require.Equal(t, []Host{{IP: "a", Port: 8080, Healthy: true, Enabled: true, Ephemeral: true, Weight: 2, Metadata: map[string]string{}}}, l.Hosts)
	require.Equal(t, int64(1614585600000), l.LastRefTime)

	require.NoError(t, json.Unmarshal([]byte(`{"cacheMillis":10000}`), &l))
	require.Nil(t, l.Hosts, "no list at all is not an empty one")

	var h Host
	require.NoError(t, json.Unmarshal([]byte(`{"ip":"a","port":1,"healthy":false,"weight":0}`), &h))
	require.False(t, h.Healthy)
	require.Zero(t, h.Weight)
	for _, bad := range []string{`{"hosts":{}}`, `{"hosts":[{"port":1.5}]}`, `[]`, `{"cacheMillis":"soon"}`} {
		require.Error(t, json.Unmarshal([]byte(bad), &l), bad)
	}
	require.Error(t, json.Unmarshal([]byte(`{"port":{}}`), &h))
}

func TestAppendUnknownService(t *testing.T) {
	require.Equal(t, `{"name":"G@@s","clusters":"a,b","cacheMillis":3000,"hosts":[]}`,
		string(AppendUnknownService(nil, "G@@s", "a,b", 3000)))
}

func TestEncodedList_AppendsWithoutAllocating(t *testing.T) {
	var l ServiceList
	require.NoError(t, json.Unmarshal([]byte(javaList), &l))
	e := EncodeList(l, slices.Values(l.Hosts))
	buf := make([]byte, 0, e.Size()+64)
	require.Zero(t, testing.AllocsPerRun(100, func() { buf = e.Append(buf[:0], 10000, 1614585600000) }))
	require.Equal(t, javaList, string(buf))
}

func FuzzServiceList(f *testing.F) {
	f.Add([]byte(javaList))
	f.Add([]byte(`{"hosts":[{"port":"1"}],"lastRefTime":1.0}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var l ServiceList
		if json.Unmarshal(b, &l) != nil {
			return
		}
		encoded, err := json.Marshal(l)
		require.NoError(t, err)
		var again ServiceList
		require.NoError(t, json.Unmarshal(encoded, &again))
	})
}

func BenchmarkEncodeList_100Hosts(b *testing.B) {
	var l ServiceList
	require.NoError(b, json.Unmarshal([]byte(javaList), &l))
	l.Hosts = slices.Repeat(l.Hosts, 100)
	b.ReportAllocs()
	for b.Loop() {
		EncodeList(l, slices.Values(l.Hosts))
	}
}

func BenchmarkDecodeList_100Hosts(b *testing.B) {
	var l ServiceList
	require.NoError(b, json.Unmarshal([]byte(javaList), &l))
	l.Hosts = slices.Repeat(l.Hosts, 100)
	text, err := json.Marshal(l)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if err := json.Unmarshal(text, &l); err != nil {
			b.Fatal(err)
		}
	}
}
