package api

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSB05_LateBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		at := []string{"serviceName", "late", "ip", "192.0.2.40", "port", "8140"}
		f.want("200 ok", "POST instance", append(at, "metadata",
			`{"v":"1","preserved.heart.beat.timeout":"2000","preserved.ip.delete.timeout":"3000"}`)...)
		time.Sleep(6 * time.Second)
		require.Empty(t, f.hosts("serviceName", "late"))
		f.want(`200 {"clientBeatInterval":5000,"code":20404}`, "PUT instance/beat", at...)
		require.Empty(t, f.hosts("serviceName", "late"))

		f.want(`200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, "PUT instance/beat", "serviceName", "late",
			"beat", `{"ip":"192.0.2.40","port":8140,"weight":3.0,"metadata":{"v":"1"},"serviceName":"DEFAULT_GROUP@@late","cluster":"DEFAULT","scheduled":false}`)
		host := f.list("serviceName", "late").Hosts[0]
		require.Equal(t, "1", host.Metadata["v"])
		require.Equal(t, 3.0, host.Weight)

		f.wantStatus(200, "PUT instance/beat", "serviceName", "late",
			"beat", `{"ip":"192.0.2.40","port":8140,"weight":9,"metadata":{"v":"2"}}`)
		host = f.list("serviceName", "late").Hosts[0]
		require.Equal(t, "1", host.Metadata["v"])
		require.Equal(t, 3.0, host.Weight)

		f.wantStatus(200, "PUT instance/beat", "serviceName", "bare", "beat", `{"ip":"192.0.2.41","port":"80"}`)
		require.Contains(t, f.wantStatus(200, "GET instance/list", "serviceName", "bare"), `"metadata":{}`)
	})
}

func TestSB03_AWeightOfABeatIsBroughtIntoItsRange(t *testing.T) {
	f := newFixture(t)
	for weight, want := range map[string]float64{"-1": 0, "0": 0, "0.001": 0.01, "10001": 10000, "1e300": 10000} {
		f.want(`200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, "PUT instance/beat", "serviceName", "heavy",
			"beat", `{"ip":"192.0.2.40","port":8140,"weight":`+weight+`}`)
		require.Equal(t, want, f.list("serviceName", "heavy").Hosts[0].Weight, weight)
		f.want("200 ok", "DELETE service", "serviceName", "heavy")
	}
}

func TestSB05_ADocumentThatIsNullIsNone(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		beat := []string{"serviceName", "light", "ip", "192.0.2.40", "port", "8140", "beat", "null"}
		f.want(`200 {"clientBeatInterval":5000,"code":20404}`, "PUT instance/beat", beat...)
		f.want("200 ok", "POST instance", beat[:6]...)
		f.want(`200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, "PUT instance/beat", beat...)
	})
}

// What is wrong with a beat changes nothing about that there was one.
func TestBeat_EachIsCountedOnce(t *testing.T) {
	f := newFixture(t)
	sent := uint64(0)
	for _, beat := range [][]string{
		{"serviceName", "s", "ip", "192.0.2.40", "port", "80"},
		{"serviceName", "s", "beat", `{"ip":"192.0.2.40","port":80}`},
		{"ip", "192.0.2.40", "port", "80"},
		{"serviceName", "@@", "beat", `{"ip":"192.0.2.40","port":80}`},
		{"serviceName", "s", "ip", "192.0.2.40", "port", "x"},
		{"serviceName", "s", "ip", "192.0.2.40", "port", "65536"},
		{"serviceName", "s", "ip", "192.0.2.400", "port", "80"},
		{"serviceName", "s", "beat", `{`},
		{"serviceName", "s", "beat", `{"ip":"192.0.2.40","port":65536}`},
		{"serviceName", "s", "beat", `{"ip":"192.0.2.400","port":80}`},
	} {
		sent++
		f.send("PUT instance/beat", beat...)
		require.Equal(t, sent, f.store.Stats().Beats, "%q", beat)
	}
	f.send("GET api/clientBeat", "dom", "@@")
	require.Equal(t, sent+1, f.store.Stats().Beats)
}

func TestSB06_TheRequestNamesTheTargetOfABeat(t *testing.T) {
	for name, document := range map[string]string{
		"bare name":    `{"ip":"192.0.2.40","port":8140,"serviceName":"s6","cluster":"DEFAULT","metadata":{}}`,
		"grouped name": `{"ip":"192.0.2.40","port":8140,"serviceName":"PAY@@s6"}`,
		"other name":   `{"ip":"192.0.2.40","port":8140,"serviceName":"OTHER@@other"}`,
		"no name":      `{"ip":"192.0.2.40","port":8140,"serviceName":{"group":"OTHER"},"period":"3s"}`,
		"light":        "",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				at := []string{"serviceName", "s6", "groupName", "PAY", "ip", "192.0.2.40", "port", "8140"}
				f.want("200 ok", "POST instance", append(at, "enable", "True", "healthy", "True", "ephemeral", "True")...)
				beat := []string{"serviceName", "s6", "groupName", "PAY", "beat", document}
				if document == "" {
					beat = at
				}
				for second := range 60 {
					if second%3 == 0 {
						f.want(`200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, "PUT instance/beat", beat...)
					}
					time.Sleep(time.Second)
					hosts := f.list("serviceName", "s6", "groupName", "PAY").Hosts
					require.Len(t, hosts, 1)
					require.True(t, hosts[0].Healthy)
				}
				f.want(`200 {"doms":["PAY@@s6"],"count":1}`, "GET service/list", "pageNo", "1", "pageSize", "10", "groupName", "*")
			})
		})
	}
}

func TestSB06_ADocumentDoesNotMoveABeatToAnotherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		at := []string{"serviceName", "s6", "clusterName", "A", "ip", "2001:db8::5", "port", "80"}
		f.want("200 ok", "POST instance", at...)
		beat := []string{"serviceName", "s6", "clusterName", "A", "beat", `{"ip":"[2001:db8:0::5]","port":80,"cluster":"B"}`}
		for range 20 {
			time.Sleep(3 * time.Second)
			f.want(`200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, "PUT instance/beat", beat...)
		}
		hosts := f.list("serviceName", "s6").Hosts
		require.Len(t, hosts, 1)
		require.Equal(t, "A", hosts[0].ClusterName)
		require.True(t, hosts[0].Healthy)

		// What neither cluster has is made where the document says, as in Nacos.
		beat[5] = `{"ip":"192.0.2.40","port":80,"cluster":"B"}`
		f.want(`200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, "PUT instance/beat", beat...)
		require.Equal(t, "B", f.list("serviceName", "s6", "clusters", "B").Hosts[0].ClusterName)
	})
}

func TestSB07_OwnIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		at := []string{"serviceName", "s7", "ip", "192.0.2.7", "port", "80"}
		f.want("200 ok", "POST instance", append(at, "metadata",
			`{"preserved.heart.beat.interval":"1000","preserved.heart.beat.timeout":"3000","preserved.ip.delete.timeout":"6000"}`)...)
		f.want(`200 {"clientBeatInterval":1000,"code":10200,"lightBeatEnabled":true}`, "PUT instance/beat", at...)
		time.Sleep(4500 * time.Millisecond)
		require.Contains(t, f.wantStatus(200, "GET instance", at...), `"healthy":false`)
		time.Sleep(3500 * time.Millisecond)
		require.Empty(t, f.hosts("serviceName", "s7"))

		f.want("200 ok", "POST instance", append(at, "metadata", `{"preserved.heart.beat.interval":"30"}`)...)
		f.want(`200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, "PUT instance/beat", at...)
		f.want("200 ok", "PUT instance", append(at, "metadata", `{"preserved.heart.beat.interval":"7000"}`)...)
		f.want(`200 {"clientBeatInterval":7000,"code":10200,"lightBeatEnabled":true}`, "PUT instance/beat", at...)
	})
}

func TestBeat_Switches(t *testing.T) {
	f := newFixture(t)
	at := []string{"serviceName", "b", "ip", "192.0.2.7", "port", "80"}
	f.want("200 ok", "PUT operator/switches", "entry", "clientBeatInterval", "value", "4000")
	f.want("200 ok", "PUT operator/switches", "entry", "lightBeatEnabled", "value", "false")
	f.want(`200 {"clientBeatInterval":4000,"code":20404}`, "PUT instance/beat", at...)
	f.want("200 ok", "POST instance", at...)
	f.want(`200 {"clientBeatInterval":4000,"code":10200,"lightBeatEnabled":false}`, "PUT instance/beat", at...)
}

func TestBeat_WhatIsWrongIsTheClientsFault(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		f.wantStatus(400, "PUT instance/beat", "ip", "192.0.2.7", "port", "80")
		f.wantStatus(400, "PUT instance/beat", "serviceName", "b", "ip", "192.0.2.7", "port", "x")
		f.wantStatus(400, "PUT instance/beat", "serviceName", "b", "ip", "192.0.2.7", "port", "65536")
		f.want(`200 {"clientBeatInterval":5000,"code":20404}`, "PUT instance/beat", "serviceName", "b")
		for _, document := range []string{"{", "[]", `"x"`, `{"ip":"192.0.2.7","port":-1}`, `{"ip":"300.1.1.1","port":1}`, `{"ip":"192.0.2.7","port":1,"cluster":"a_b"}`} {
			f.wantStatus(400, "PUT instance/beat", "serviceName", "b", "beat", document)
		}
		f.wantStatus(404, "GET service", "serviceName", "b")
	})
}

func TestBeat_ClusterFallsBackToTheParameter(t *testing.T) {
	f := newFixture(t)
	f.want("200 ok", "POST instance", "serviceName", "b", "ip", "192.0.2.7", "port", "80", "clusterName", "A")
	known := `200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`
	f.want(known, "PUT instance/beat", "serviceName", "b", "clusterName", "A", "beat", `{"ip":"192.0.2.7","port":80,"cluster":""}`)
	f.want(known, "PUT instance/beat", "serviceName", "b", "clusterName", "B", "beat", `{"ip":"192.0.2.7","port":80,"cluster":"A"}`)
	f.want(`200 {"clientBeatInterval":5000,"code":20404}`, "PUT instance/beat", "serviceName", "b", "cluster", "A", "ip", "192.0.2.7", "port", "80")
	require.Len(t, f.hosts("serviceName", "b"), 1)
}
