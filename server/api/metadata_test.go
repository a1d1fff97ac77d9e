package api

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMetadataBatch(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		f.want("200 ok", "POST instance", "serviceName", "m", "ip", "192.0.2.1", "port", "80", "metadata", "a=1")
		f.want("200 ok", "POST instance", "serviceName", "m", "ip", "2001:db8::1", "port", "80", "clusterName", "C", "metadata", "a=1")
		metadata := func() (all []map[string]string) {
			for _, h := range f.list("serviceName", "m").Hosts {
				all = append(all, h.Metadata)
			}
			return all
		}
		m := []string{"serviceName", "m"}

		f.want(`200 {"updated":["192.0.2.1:80:unknown:DEFAULT:ephemeral"]}`, "PUT instance/metadata/batch",
			append(m, "metadata", `{"b":"2"}`, "instances", `[{"ip":"192.0.2.1","port":80},{"ip":"192.0.2.9","port":80},{"ip":"192.0.2.1","port":80,"ephemeral":false}]`)...)
		require.ElementsMatch(t, []map[string]string{{"a": "1", "b": "2"}, {"a": "1"}}, metadata())

		f.want(`200 {"updated":["[2001:db8::1]:80:unknown:C:ephemeral","192.0.2.1:80:unknown:DEFAULT:ephemeral"]}`, "DELETE instance/metadata/batch",
			append(m, "metadata", `{"a":""}`, "consistencyType", "ephemeral")...)
		require.ElementsMatch(t, []map[string]string{{"b": "2"}, {}}, metadata())

		f.want(`200 {"updated":["192.0.2.1:80:unknown:DEFAULT:ephemeral"]}`, "PUT instance/metadata/batch",
			append(m, "metadata", `{"b":"2"}`, "instances", `[{"ip":"192.0.2.1","port":"80","ephemeral":"true","weight":1}]`)...)

		const none = `200 {"updated":[]}`
		f.want(none, "PUT instance/metadata/batch", append(m, "metadata", `{"x":"1"}`, "consistencyType", "persist")...)
		f.want(none, "PUT instance/metadata/batch", append(m, "metadata", `{"x":"1"}`, "consistencyType", "other")...)
		f.want(none, "PUT instance/metadata/batch", append(m, "metadata", `{"x":"1"}`)...)
		f.want(none, "PUT instance/metadata/batch", append(m, "metadata", `{"x":"1"}`, "instances", "[")...)
		f.want(none, "PUT instance/metadata/batch", "serviceName", "@@x", "metadata", `{"x":"1"}`, "consistencyType", "ephemeral")
		f.want(none, "PUT instance/metadata/batch", "serviceName", "unknown", "metadata", `{"x":"1"}`, "consistencyType", "ephemeral")
		require.ElementsMatch(t, []map[string]string{{"b": "2"}, {}}, metadata())

		f.want("400 caused: Param 'serviceName' is required.;", "PUT instance/metadata/batch", "metadata", "a=1")
		f.want("400 caused: Param 'metadata' is required.;", "DELETE instance/metadata/batch", m...)
		f.wantStatus(400, "PUT instance/metadata/batch", append(m, "metadata", "nothing")...)
	})
}

func TestSB06_ABatchReadsWhatOtherLanguagesSend(t *testing.T) {
	bothWays(t, func(t *testing.T, f *fixture) {
		at := []string{"serviceName", "m", "ip", "192.0.2.1", "port", "80"}
		f.want("200 ok", "POST instance", at...)
		f.want("200 ok", "POST instance", persistent(at...)...)
		for kind, documents := range map[string]string{
			"ephemeral": `[{"ip":"192.0.2.1","port":"80","ephemeral":"True"},{"ip":"192.0.2.1","port":80.0},{"ip":7}]`,
			"persist":   `[{"ip":"192.0.2.1","port":"80","ephemeral":"False"},{"ip":"192.0.2.1","port":80,"ephemeral":false}]`,
		} {
			f.want(`200 {"updated":["192.0.2.1:80:unknown:DEFAULT:`+kind+`"]}`, "PUT instance/metadata/batch",
				"serviceName", "m", "metadata", `{"kind":"`+kind+`"}`, "instances", documents)
		}
		for _, h := range f.list("serviceName", "m").Hosts {
			want := map[bool]string{true: "ephemeral", false: "persist"}[h.Ephemeral]
			require.Equal(t, map[string]string{"kind": want}, h.Metadata)
		}
	})
}

func TestStatuses(t *testing.T) {
	f := newFixture(t)
	f.want("200 ok", "POST instance", "serviceName", "G@@s", "ip", "192.0.2.7", "port", "8080", "namespaceId", "blue")
	f.want(`200 {"ips":["192.0.2.7:8080_true"]}`, "GET instance/statuses", "key", "blue##G@@s")
	f.want("200 ok", "POST instance", "serviceName", "G@@s", "ip", "2001:db8::5", "port", "7001", "namespaceId", "a##b")
	f.want(`200 {"ips":["[2001:db8::5]:7001_true"]}`, "GET instance/statuses", "key", "a##b##G@@s")
	f.want("200 ok", "POST instance", "serviceName", "P@@s", "ip", "192.0.2.7", "port", "8080")
	f.want(`200 {"ips":["192.0.2.7:8080_true"]}`, "GET instance/statuses", "key", "##P@@s")
	f.want("404 caused: service: G@@s not found.;", "GET instance/statuses", "key", "G@@s")
	f.want("200 ok", "POST instance", "serviceName", "plain", "ip", "192.0.2.7", "port", "8080")
	f.want("404 caused: service: plain not found.;", "GET instance/statuses", "key", "plain")
	f.want("400 caused: Required String parameter 'key' is not present;", "GET instance/statuses")
}
