package nacosclient_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
)

func TestParseList_OneOddInstanceDoesNotSpoilTheOthers(t *testing.T) {
	const good = `{"ip":"192.0.2.1","port":80,"weight":1.5,"healthy":true,"enabled":true}`
	for name, odd := range map[string]string{
		"null": `null`, "empty": `{}`, "no address": `{"port":80}`, "blank address": `{"ip":" ","port":80}`,
		"null address": `{"ip":null,"port":80}`, "port below": `{"ip":"192.0.2.2","port":-1}`, "port above": `{"ip":"192.0.2.2","port":65536}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, hosts := range []string{good + "," + odd, odd + "," + good} {
				list, err := nacosclient.ParseList([]byte(`{"name":"g@@s","cacheMillis":7,"hosts":[` + hosts + `]}`))
				require.NoError(t, err)
				require.Len(t, list.Hosts, 1)
				require.Equal(t, "192.0.2.1", list.Hosts[0].IP)
				require.InDelta(t, 1.5, list.Hosts[0].Weight, 0)
				require.True(t, list.Hosts[0].Healthy && list.Hosts[0].Enabled)
				require.Equal(t, "g@@s", list.Name)
				require.EqualValues(t, 7, list.CacheMillis)
			}
			_, err := nacosclient.ParseList([]byte(`{"hosts":[` + odd + `]}`))
			require.ErrorContains(t, err, "none of 1 has an address", "it must not pass for an empty list")
		})
	}
	for text, want := range map[string]float64{
		`"NaN"`: math.NaN(), `"Infinity"`: math.Inf(1), `"-Infinity"`: math.Inf(-1), `"2.5"`: 2.5, `null`: 1, `0`: 0, `-3`: -3, `1e400`: math.Inf(1),
	} {
		list, err := nacosclient.ParseList([]byte(`{"hosts":[{"ip":"192.0.2.1","port":80,"weight":` + text + `}]}`))
		require.NoError(t, err, text)
		require.Equal(t, math.Float64bits(want), math.Float64bits(list.Hosts[0].Weight), text)
	}
	_, err := nacosclient.ParseList([]byte(`{"hosts":[{"ip":"192.0.2.1","port":80,"weight":"heavy"}]}`))
	require.ErrorContains(t, err, "not a number: heavy")
}
