package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseAgent(t *testing.T) {
	for text, want := range map[string]Agent{
		"Nacos-Java-Client:v1.4.1":          {AgentJava, [3]int{1, 4, 1}},
		"Nacos-Java-Client:v1.0.0-SNAPSHOT": {AgentJava, [3]int{1, 0, 0}},
		"Nacos-Java-Client:v2.1":            {AgentJava, [3]int{2, 1, 0}},
		"Nacos-Java-Client:v1":              {AgentJava, [3]int{}},
		"Nacos-Java-Client":                 {AgentJava, [3]int{}},
		"Nacos-Java-Client:vx.y":            {AgentJava, [3]int{}},
		"Nacos-Java-Client:v1.4rc2.7x":      {AgentJava, [3]int{1, 4, 7}},
		ClientAgent:                         {AgentGo, [3]int{1, 1, 6}},
		"Nacos-CSharp-Client:v0.9.0":        {AgentCSharp, [3]int{0, 9, 0}},
		"Nacos-C-Client:v1.0.12":            {AgentC, [3]int{1, 0, 12}},
		"vip-client4cpp:v1.0.13":            {AgentC, [3]int{1, 0, 13}},
		"Nacos-DNS:v1.0.1":                  {AgentDNS, [3]int{1, 0, 1}},
		"Nacos-Python-Client:v0.1.16":       {AgentPython, [3]int{0, 1, 16}},
		"Nacos-Server:v1.4.1":               {},
		"Nacos-SDK-Java:v1.0.0":             {},
		"nacos-java-client:v1.4.1":          {},
		"curl/8.0":                          {},
		"":                                  {},
	} {
		require.Equal(t, want, ParseAgent(text, ""), text)
	}
	require.Equal(t, AgentGo, ParseAgent("", ClientAgent).Kind, "the fallback")
	require.Equal(t, AgentOther, ParseAgent("curl", ClientAgent).Kind, "only when there is no agent")
}

func FuzzParseAgent(f *testing.F) {
	for _, seed := range []string{ClientAgent, "Nacos-Java-Client:v1.4rc2.7x", "Nacos-C-Client:v99999999999999999999.1", "1.0.12", "..", ":v"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, agent, version string) {
		a := ParseAgent(agent, version)
		if a.Kind == AgentOther {
			require.Zero(t, a.Version, "an agent that is not known has no version")
		}
		parsed, ok := ParseVersion(version)
		require.True(t, ok || parsed == [3]int{})
		for _, part := range append(a.Version[:], parsed[:]...) {
			require.GreaterOrEqual(t, part, 0)
			require.Less(t, part, 10_000_000, "digits without end do not overflow")
		}
	})
}

func TestAgent_GroupedNames(t *testing.T) {
	for text, want := range map[string]bool{
		"Nacos-Java-Client:v1.0.0": true, "Nacos-Java-Client:v1.4.1": true, "Nacos-Java-Client:v0.9.9": false,
		"Nacos-Java-Client": false, ClientAgent: false, "curl": false,
	} {
		require.Equal(t, want, ParseAgent(text, "").GroupedNames(), text)
	}
}

func TestParseVersion(t *testing.T) {
	v, ok := ParseVersion("1.0.12")
	require.True(t, ok)
	require.Equal(t, [3]int{1, 0, 12}, v)
	for _, text := range []string{"", "1.0", "1.0.0.0", "a.b.c", "1..0", "-1.0.0"} {
		_, ok := ParseVersion(text)
		require.False(t, ok, text)
	}
}
