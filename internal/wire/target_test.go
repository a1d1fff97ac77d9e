package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSB06_TargetsAsOtherLanguagesSendThem(t *testing.T) {
	got := ParseTargets(`[
		{"ip":"192.0.2.1","port":80},
		{"ip":"[2001:DB8::5]","port":"80","clusterName":" C ","ephemeral":"False"},
		{"ip":"host","port":80.0,"ephemeral":0},
		{"ip":"192.0.2.2","port":null,"clusterName":null,"ephemeral":"TRUE","unknown":{}},
		{"ip":"300.1.1.1","port":80}, {"ip":"192.0.2.3","port":65536}, {"ip":"192.0.2.3","port":-1},
		{"ip":"192.0.2.3","port":80,"clusterName":"a_b"}, {"port":80}, {"ip":1}, 7, null
	]`)
	require.Equal(t, []Target{
		{IP: "192.0.2.1", Port: 80, Cluster: "DEFAULT", Ephemeral: true},
		{IP: "2001:db8::5", Port: 80, Cluster: "C"},
		{IP: "host", Port: 80, Cluster: "DEFAULT"},
		{IP: "192.0.2.2", Port: 0, Cluster: "DEFAULT", Ephemeral: true},
	}, got)
	for _, text := range []string{"", "[", "{}", "null", `"x"`, "[]"} {
		require.Empty(t, ParseTargets(text), text)
	}
}

func FuzzParseTargets(f *testing.F) {
	f.Add(`[{"ip":"192.0.2.1","port":"80","ephemeral":"True"}]`)
	f.Add(`[{"ip":"::1","clusterName":"C"},null,{}]`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, target := range ParseTargets(text) {
			ip, err := ParseIP(target.IP)
			require.NoError(t, err)
			require.Equal(t, ip, target.IP)
			require.NoError(t, CheckPort(target.Port))
		}
	})
}
