package api

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/state"
)

// persistent are parameters with the flag.
func persistent(pairs ...string) []string { return append(pairs, "ephemeral", "false") }

func TestPersistent_RegisterChangeShowRemove(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "p", "ip", "192.0.2.50", "port", "80"}
		f.want("200 ok", "POST instance", persistent(append(at, "weight", "3", "metadata", "a=b")...)...)
		host := f.list("serviceName", "p").Hosts[0]
		require.False(t, host.Ephemeral)
		require.Equal(t, 3.0, host.Weight)
		require.Equal(t, map[string]string{"a": "b"}, host.Metadata)
		require.Equal(t, "192.0.2.50#80#DEFAULT#DEFAULT_GROUP@@p", host.InstanceID)

		f.want("200 ok", "PUT instance", persistent(append(at, "weight", "5")...)...)
		host = f.list("serviceName", "p").Hosts[0]
		require.Equal(t, 5.0, host.Weight)
		require.Empty(t, host.Metadata, "what is omitted is reset")

		f.want("200 ok", "PATCH instance", append(at, "metadata", `{"c":"d"}`, "healthy", "false")...)
		host = f.list("serviceName", "p").Hosts[0]
		require.Equal(t, 5.0, host.Weight)
		require.Equal(t, map[string]string{"c": "d"}, host.Metadata)
		require.Contains(t, f.wantStatus(200, "GET instance", at...), `"healthy":false`)

		stored, found := f.state.View().Instance(key("p"), state.InstanceKey{Cluster: "DEFAULT", IP: "192.0.2.50", Port: 80})
		require.True(t, found, "it survives a restart")
		require.Equal(t, 5.0, stored.Weight)

		f.want("200 ok", "DELETE instance", persistent(at...)...)
		require.Empty(t, f.hosts("serviceName", "p"))
		require.Zero(t, f.state.View().InstanceCount())
		f.wantStatus(200, "GET service", "serviceName", "p")
	})
}

func TestPersistent_AnOperatorsHealthIsStored(t *testing.T) {
	f := newFixture(t)
	at := []string{"serviceName", "p", "ip", "192.0.2.50", "port", "80"}
	stored := func() bool {
		i, found := f.state.View().Instance(key("p"), state.InstanceKey{Cluster: "DEFAULT", IP: "192.0.2.50", Port: 80})
		require.True(t, found)
		return i.Healthy
	}
	f.want("200 ok", "POST instance", persistent(at...)...)
	f.wantStatus(400, "PUT health", append(at, "healthy", "false")...)
	require.True(t, stored(), "probes decide here")
	f.want("200 ok", "PUT cluster", "serviceName", "p", "clusterName", "DEFAULT", "checkPort", "80",
		"useInstancePort4Check", "true", "healthChecker", `{"type":"NONE"}`)
	for _, healthy := range []bool{false, true} {
		f.want("200 ok", "PUT health", append(at, "healthy", strconv.FormatBool(healthy))...)
		require.Equal(t, healthy, stored())
		require.Contains(t, f.wantStatus(200, "GET instance", at...), fmt.Sprintf(`"healthy":%t`, healthy))
	}
	f.proposer.err = fmt.Errorf("%w: no leader", consensus.ErrUnavailable)
	f.wantStatus(503, "PUT health", append(at, "healthy", "false")...)
	require.Contains(t, f.wantStatus(200, "GET instance", at...), `"healthy":true`, "what cannot be stored does not hold")
}

func TestPersistent_NoMetadataIsAnEmptyObject(t *testing.T) {
	f := newFixture(t)
	at := []string{"serviceName", "p", "ip", "192.0.2.50", "port", "80"}
	f.want("200 ok", "POST instance", persistent(at...)...)
	require.Contains(t, f.wantStatus(200, "GET instance", at...), `"metadata":{}`)
}

// key is a service of the default group in the public namespace.
func key(name string) wire.ServiceKey {
	return wire.ServiceKey{Namespace: wire.PublicNamespace, ServiceName: wire.ServiceName{Group: wire.DefaultGroup, Name: name}}
}

func TestPersistent_WhatIsWrongIsNotStored(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "p", "ip", "192.0.2.50"}
		for _, wrong := range [][]string{
			{"port", "65536"},
			{"port", "-1"},
			{"port", "80", "weight", "-1"},
			{"port", "80", "weight", "NaN"},
			{"port", "80", "metadata", "x"},
			{"port", "80", "clusterName", "a_b"},
		} {
			f.wantStatus(400, "POST instance", persistent(append(at, wrong...)...)...)
			f.wantStatus(400, "PUT instance", persistent(append(at, wrong...)...)...)
		}
		require.Zero(t, f.state.View().Applied())
		f.wantStatus(404, "GET service", "serviceName", "p")
	})
}

func TestPersistent_JavaMustNameWhatExists(t *testing.T) {
	f := newFixture(t)
	f.agent = java14
	at := []string{"serviceName", "p", "ip", "192.0.2.50", "port", "80"}
	require.Contains(t, f.wantStatus(400, "PUT instance", persistent(at...)...), "caused: service not found, namespace: public, service: DEFAULT_GROUP@@p;")
	f.want("200 ok", "POST instance", at...)
	require.Contains(t, f.wantStatus(400, "PUT instance", persistent(at...)...), "caused: instance not exist: 192.0.2.50:80:unknown:DEFAULT_1.0_true_false_DEFAULT;",
		"the ephemeral one is another")
	f.want("200 ok", "POST instance", persistent(at...)...)
	f.want("200 ok", "PUT instance", persistent(append(at, "clusterName", "OTHER")...)...)
	require.Len(t, f.hosts("serviceName", "p"), 3, "another cluster is another instance")
}

func TestPersistent_BothKindsAtOneAddress(t *testing.T) {
	f := newFixture(t)
	at := []string{"serviceName", "p", "ip", "192.0.2.50", "port", "80"}
	f.want("200 ok", "POST instance", append(at, "weight", "1")...)
	f.want("200 ok", "POST instance", persistent(append(at, "weight", "2")...)...)
	require.Len(t, f.hosts("serviceName", "p"), 2)
	f.want("200 ok", "DELETE instance", persistent(at...)...)
	require.Equal(t, 1.0, f.list("serviceName", "p").Hosts[0].Weight, "the flag selects")
	f.want("200 ok", "POST instance", persistent(append(at, "weight", "2")...)...)
	f.want("200 ok", "DELETE instance", append(at, "ephemeral", "true")...)
	require.Equal(t, 2.0, f.list("serviceName", "p").Hosts[0].Weight)
}

func TestPersistent_ABeatChangesNothing(t *testing.T) {
	f := newFixture(t)
	at := []string{"serviceName", "p", "ip", "192.0.2.50", "port", "80"}
	f.want("200 ok", "POST instance", persistent(append(at, "healthy", "false")...)...)
	const known = `200 {"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`
	f.want(known, "PUT instance/beat", at...)
	f.want(known, "PUT instance/beat", append(at, "beat", `{"ip":"192.0.2.50","port":80,"ephemeral":false,"weight":9}`)...)
	f.want(known, "PUT instance/beat", append(at, "beat", `{"ip":"192.0.2.50","port":80}`)...)
	require.Contains(t, f.wantStatus(200, "GET instance", at...), `"weight":1.0,"healthy":false`)

	f.want(known, "PUT instance/beat", "serviceName", "q", "beat", `{"ip":"192.0.2.51","port":80,"ephemeral":false,"weight":2,"metadata":{"k":"v"}}`)
	host := f.list("serviceName", "q").Hosts[0]
	require.False(t, host.Ephemeral, "the document says what it is")
	require.Equal(t, 2.0, host.Weight)
	require.Equal(t, 2, f.state.View().InstanceCount())
}

func TestPersistent_TheSwitchDecidesWithoutAFlag(t *testing.T) {
	f := newFixture(t)
	f.want("200 ok", "PUT operator/switches", "entry", "defaultInstanceEphemeral", "value", "false")
	f.want("200 ok", "POST instance", "serviceName", "p", "ip", "192.0.2.50", "port", "80")
	require.False(t, f.list("serviceName", "p").Hosts[0].Ephemeral)
	for _, value := range []string{"true", "T", "yes", "y", "ON"} {
		f.want("200 ok", "POST instance", "serviceName", "e"+value, "ip", "192.0.2.50", "port", "80", "ephemeral", value)
		require.True(t, f.list("serviceName", "e"+value).Hosts[0].Ephemeral)
	}
}

func TestSB26_OfBothKinds(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "d26", "ip", "192.0.2.50", "port", "80"}
		f.want("200 ok", "POST instance", persistent(at...)...)
		f.want("200 ok", "DELETE service", "serviceName", "d26")
		f.wantStatus(404, "GET service", "serviceName", "d26")
		require.Zero(t, f.state.View().InstanceCount())

		f.want("200 ok", "POST instance", persistent(at...)...)
		f.want("200 ok", "DELETE instance", at...)
		require.Empty(t, f.hosts("serviceName", "d26"), "without the flag it is found whatever its kind")

		f.want("200 ok", "POST instance", persistent(at...)...)
		f.want("400 caused: the instance is persistent, and ephemeral=true was asked for; nothing was changed;",
			"DELETE instance", append(at, "ephemeral", "true")...)
		require.Len(t, f.hosts("serviceName", "d26"), 1)
		f.want("200 ok", "DELETE instance", "serviceName", "d26", "ip", "192.0.2.99", "port", "80")
		f.want("200 ok", "DELETE instance", persistent("serviceName", "d26", "ip", "192.0.2.99", "port", "80")...)

		f.want("200 ok", "DELETE instance", persistent(at...)...)
		f.want("200 ok", "DELETE service", "serviceName", "d26")
		f.want(`200 {"doms":[],"count":0}`, "GET service/list", "pageNo", "1", "pageSize", "10")
		f.wantStatus(400, "DELETE service", "serviceName", "d26")
	})
}

func TestSB16_EphemeralWorkGoesOnWithoutPersistentData(t *testing.T) {
	f := newFixture(t)
	at := []string{"serviceName", "p", "ip", "192.0.2.50", "port", "80"}
	f.proposer.err = fmt.Errorf("%w: no leader", consensus.ErrUnavailable)
	for _, request := range []string{"POST instance", "PUT instance"} {
		f.want("503 caused: persistent data cannot be changed at the moment: no leader;", request, persistent(at...)...)
	}
	f.wantStatus(503, "POST service", "serviceName", "s")
	f.wantStatus(503, "PUT operator/switches", "entry", "check", "value", "false")
	f.wantStatus(503, "POST /v1/console/namespaces", "customNamespaceId", "n", "namespaceName", "n")
	require.Empty(t, f.hosts("serviceName", "p"))
	f.want("200 ok", "POST instance", at...)
	f.wantStatus(200, "PUT instance/beat", at...)
	require.Len(t, f.hosts("serviceName", "p"), 1)
	f.want("200 ok", "DELETE instance", at...)
	f.proposer.err = fmt.Errorf("%w: much", consensus.ErrTooLarge)
	f.wantStatus(413, "POST instance", persistent(at...)...)
}

func TestMetadata_OfPersistentInstances(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		for _, port := range []string{"80", "81"} {
			at := []string{"serviceName", "m", "ip", "192.0.2.7", "port", port, "metadata", "old=1"}
			f.want("200 ok", "POST instance", at...)
			f.want("200 ok", "POST instance", persistent(at...)...)
		}
		f.want(`200 {"updated":["192.0.2.7:80:unknown:DEFAULT:persist","192.0.2.7:81:unknown:DEFAULT:persist"]}`,
			"PUT instance/metadata/batch", "serviceName", "m", "consistencyType", "persist", "metadata", `{"new":"2"}`)
		f.want(`200 {"updated":["192.0.2.7:80:unknown:DEFAULT:ephemeral","192.0.2.7:81:unknown:DEFAULT:persist"]}`,
			"DELETE instance/metadata/batch", "serviceName", "m", "metadata", `{"old":""}`,
			"instances", `[{"ip":"192.0.2.7","port":80},{"ip":"192.0.2.7","port":81,"ephemeral":false},{"ip":"192.0.2.9","port":1,"ephemeral":false}]`)
		got := map[string]map[string]string{}
		for _, h := range f.list("serviceName", "m").Hosts {
			got[fmt.Sprintf("%d%t", h.Port, h.Ephemeral)] = h.Metadata
		}
		require.Equal(t, map[string]map[string]string{
			"80true": {}, "81true": {"old": "1"}, "80false": {"old": "1", "new": "2"}, "81false": {"new": "2"},
		}, got)
		f.want(`200 {"updated":[]}`, "PUT instance/metadata/batch", "serviceName", "m", "consistencyType", "other", "metadata", "a=b")
	})
}

func TestSB09_PersistentInstances(t *testing.T) {
	f := newFixture(t)
	f.want("200 ok", "POST service", "serviceName", "p9", "protectThreshold", "0")
	one := []string{"serviceName", "p9", "ip", "127.0.0.1", "port", "1"}
	two := []string{"serviceName", "p9", "ip", "127.0.0.1", "port", "2"}
	f.want("200 ok", "POST instance", persistent(append(one, "healthy", "false")...)...)
	f.want("200 ok", "POST instance", persistent(append(two, "healthy", "false")...)...)
	for _, healthyOnly := range []string{"true", "false"} {
		l := f.list("serviceName", "p9", "healthyOnly", healthyOnly)
		require.Len(t, l.Hosts, 2)
		require.True(t, l.Hosts[0].Healthy && l.Hosts[1].Healthy && l.ReachProtectionThreshold)
	}
	require.Contains(t, f.wantStatus(200, "GET instance", one...), `"healthy":false`)
	require.NotContains(t, f.wantStatus(200, "GET catalog/instances", "serviceName", "p9", "clusterName", "DEFAULT",
		"pageNo", "1", "pageSize", "10"), `"healthy":true`)
	require.Contains(t, f.wantStatus(200, "GET catalog/services", "pageNo", "1", "pageSize", "10"), `"healthyInstanceCount":0,"triggerFlag":"true"`)

	f.want("400 caused: health check is still working, service: DEFAULT_GROUP@@p9;", "PUT health/instance", append(one, "healthy", "true")...)
	f.want("200 ok", "PUT cluster", "serviceName", "p9", "clusterName", "DEFAULT", "checkPort", "80",
		"useInstancePort4Check", "true", "healthChecker", `{"type":"NONE"}`)
	f.want("200 ok", "PUT health/instance", append(one, "healthy", "true")...)
	l := f.list("serviceName", "p9")
	require.Len(t, l.Hosts, 2)
	require.False(t, l.Hosts[0].Healthy && l.Hosts[1].Healthy)
	require.False(t, l.ReachProtectionThreshold)
	require.Equal(t, []string{"127.0.0.1:1"}, f.hosts("serviceName", "p9", "healthyOnly", "true"))

	f.want("200 ok", "PUT service", "serviceName", "p9", "protectThreshold", "0.8")
	l = f.list("serviceName", "p9", "healthyOnly", "true")
	require.True(t, l.Hosts[0].Healthy && l.Hosts[1].Healthy && l.ReachProtectionThreshold)
	f.want("200 ok", "PUT instance", persistent(append(two, "enabled", "false")...)...)
	require.Equal(t, []string{"127.0.0.1:1"}, f.hosts("serviceName", "p9"))
}

func TestSB25_TheKindSelectsWhatIsChanged(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "c25", "groupName", "PAY", "ip", "192.0.2.7", "port", "80"}
		ephemeral := append([]string{"ephemeral", "true"}, at...)
		weights := func() map[bool]float64 {
			all := map[bool]float64{}
			for _, h := range f.list("serviceName", "PAY@@c25").Hosts {
				all[h.Ephemeral] = h.Weight
			}
			return all
		}
		f.want("200 ok", "POST instance", ephemeral...)
		f.want("400 caused: the instance is ephemeral, and ephemeral=false was asked for; nothing was changed;",
			"PATCH instance", persistent(append(at, "weight", "9")...)...)
		require.Equal(t, map[bool]float64{true: 1}, weights())

		f.want("200 ok", "POST instance", persistent(at...)...)
		f.want("200 ok", "PATCH instance", append(ephemeral, "weight", "2")...)
		f.want("200 ok", "PATCH instance", persistent(append(at, "weight", "3")...)...)
		require.Equal(t, map[bool]float64{true: 2, false: 3}, weights())
		f.want("200 ok", "PATCH instance", append(at, "weight", "4")...)
		require.Equal(t, map[bool]float64{true: 2, false: 4}, weights(), "unnamed, the persistent one comes first")

		f.want("200 ok", "DELETE instance", ephemeral...)
		f.want("400 caused: the instance is persistent, and ephemeral=true was asked for; nothing was changed;",
			"PATCH instance", append(ephemeral, "weight", "9")...)
		require.Equal(t, map[bool]float64{false: 4}, weights())
		f.want("200 ok", "DELETE instance", at...)
		for _, of := range [][]string{at, ephemeral, persistent(at...)} {
			f.want("400 caused: instance not found;", "PATCH instance", append(of, "weight", "9")...)
		}
		require.Empty(t, weights())
	})
}

func TestSB25_AnUpdateThatNamesNoKindMeetsTheOneThereIs(t *testing.T) {
	for _, agent := range []string{"curl/8.0", java14} {
		for _, byDefault := range []string{"true", "false"} {
			for _, kind := range []string{"true", "false"} {
				f := newFixture(t)
				f.agent = agent
				f.want("200 ok", "PUT operator/switches", "entry", "defaultInstanceEphemeral", "value", byDefault)
				at := []string{"serviceName", "c25", "ip", "192.0.2.7", "port", "80"}
				f.want("200 ok", "POST instance", append(at, "ephemeral", kind)...)
				f.want("200 ok", "PUT instance", append(at, "weight", "3")...)
				hosts := f.list("serviceName", "c25").Hosts
				require.Len(t, hosts, 1, "no second instance of the other kind")
				require.Equal(t, 3.0, hosts[0].Weight)
				require.Equal(t, kind, strconv.FormatBool(hosts[0].Ephemeral))
			}
		}
	}
	f := newFixture(t)
	at := []string{"serviceName", "c25", "ip", "192.0.2.7", "port", "80"}
	f.want("200 ok", "POST instance", persistent(at...)...)
	f.want("200 ok", "PUT instance", append(at, "ephemeral", "true", "weight", "3")...)
	f.want("200 ok", "PUT instance", append(at, "weight", "4")...)
	weights := map[bool]float64{}
	for _, h := range f.list("serviceName", "c25").Hosts {
		weights[h.Ephemeral] = h.Weight
	}
	require.Equal(t, map[bool]float64{true: 4, false: 1}, weights, "of both the default decides")
}

func TestSB25_AnOperatorsChangeMeetsWhatItNames(t *testing.T) {
	for _, kind := range []string{"true", "false"} {
		t.Run("ephemeral "+kind, func(t *testing.T) {
			bothWays(t, func(t *testing.T, f *fixture) {
				at := []string{"serviceName", "c25", "groupName", "PAY", "clusterName", "A", "ip", "192.0.2.7", "port", "80", "ephemeral", kind}
				f.want("200 ok", "POST instance", append(at, "weight", "2.5", "metadata", `{"k":"v"}`)...)
				for _, step := range []struct {
					name, value string
					hosts       int
				}{{"enabled", "false", 0}, {"enabled", "true", 1}, {"weight", "3", 1}, {"metadata", `{"k":"w"}`, 1}} {
					f.want("200 ok", "PATCH instance", append(at, step.name, step.value)...)
					require.Len(t, f.hosts("serviceName", "c25", "groupName", "PAY"), step.hosts, "%s %s", step.name, step.value)
				}
				host := f.list("serviceName", "c25", "groupName", "PAY").Hosts[0]
				require.Equal(t, 3.0, host.Weight)
				require.Equal(t, map[string]string{"k": "w"}, host.Metadata)
				require.Equal(t, kind == "true", host.Ephemeral)

				f.want("200 ok", "DELETE instance", at...)
				f.want("400 caused: instance not found;", "PATCH instance", append(at, "weight", "4")...)
				f.want("400 caused: instance not found;", "PATCH instance", append(at, "weight", "4", "serviceName", "gone")...)
				require.Empty(t, f.hosts("serviceName", "c25", "groupName", "PAY"))
				f.want(`200 {"doms":["PAY@@c25"],"count":1}`, "GET service/list", "pageNo", "1", "pageSize", "10", "groupName", "*")
			})
		})
	}
}
