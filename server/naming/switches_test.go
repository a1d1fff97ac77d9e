package naming

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestSwitches_Defaults(t *testing.T) {
	got, err := json.Marshal(NewSwitches())
	require.NoError(t, err)
	require.Equal(t, `{"name":"00-00---000-NACOS_SWITCH_DOMAIN-000---00-00","masters":null,"adWeightMap":{},`+
		`"defaultPushCacheMillis":10000,"clientBeatInterval":5000,"defaultCacheMillis":3000,"distroThreshold":0.7,`+
		`"healthCheckEnabled":true,"autoChangeHealthCheckEnabled":true,"distroEnabled":true,"enableStandalone":true,`+
		`"pushEnabled":true,"checkTimes":3,"httpHealthParams":{"max":5000,"min":500,"factor":0.85},`+
		`"tcpHealthParams":{"max":5000,"min":1000,"factor":0.75},"mysqlHealthParams":{"max":3000,"min":2000,"factor":0.65},`+
		`"incrementalList":[],"serverStatusSynchronizationPeriodMillis":2000,"serviceStatusSynchronizationPeriodMillis":5000,`+
		`"disableAddIP":false,"sendBeatOnly":false,"lightBeatEnabled":true,"limitedUrlMap":{},"distroServerExpiredMillis":10000,`+
		`"pushGoVersion":"0.1.0","pushJavaVersion":"0.1.0","pushPythonVersion":"0.4.3","pushCVersion":"1.0.12",`+
		`"pushCSharpVersion":"0.9.0","enableAuthentication":false,"overriddenServerStatus":null,"defaultInstanceEphemeral":true,`+
		`"healthCheckWhiteList":[],"checksum":null}`, string(got))
}

func TestSwitches_Set(t *testing.T) {
	status := func(s string) *string { return &s }
	for _, c := range []struct {
		entry, value string
		got          func(*SwitchValues) any
		want         any
	}{
		{"clientBeatInterval", "7000", func(v *SwitchValues) any { return v.ClientBeatInterval }, int64(7000)},
		{"distroServerExpiredMillis", "1", func(v *SwitchValues) any { return v.DistroServerExpiredMillis }, int64(1)},
		{"pushCacheMillis", "20000", func(v *SwitchValues) any { return v.DefaultPushCacheMillis }, int64(20000)},
		{"defaultCacheMillis", "1000", func(v *SwitchValues) any { return v.DefaultCacheMillis }, int64(1000)},
		{"serviceStatusSynchronizationPeriodMillis", "5000", func(v *SwitchValues) any { return v.ServiceStatusSynchronizationPeriodMillis }, int64(5000)},
		{"serverStatusSynchronizationPeriodMillis", "1000", func(v *SwitchValues) any { return v.ServerStatusSynchronizationPeriodMillis }, int64(1000)},
		{"distroThreshold", "0.5", func(v *SwitchValues) any { return v.DistroThreshold }, wire.Float(0.5)},
		{"healthCheckTimes", "5", func(v *SwitchValues) any { return v.CheckTimes }, 5},
		{"check", "false", func(v *SwitchValues) any { return v.HealthCheckEnabled }, false},
		{"distro", "false", func(v *SwitchValues) any { return v.DistroEnabled }, false},
		{"pushEnabled", "false", func(v *SwitchValues) any { return v.PushEnabled }, false},
		{"disableAddIP", " True ", func(v *SwitchValues) any { return v.DisableAddIP }, true},
		{"sendBeatOnly", "true", func(v *SwitchValues) any { return v.SendBeatOnly }, true},
		{"lightBeatEnabled", "false", func(v *SwitchValues) any { return v.LightBeatEnabled }, false},
		{"defaultInstanceEphemeral", "false", func(v *SwitchValues) any { return v.DefaultInstanceEphemeral }, false},
		{"autoChangeHealthCheckEnabled", "false", func(v *SwitchValues) any { return v.AutoChangeHealthCheckEnabled }, false},
		{"pushVersion", "java:1.0.0", func(v *SwitchValues) any { return v.PushJavaVersion }, "1.0.0"},
		{"pushVersion", "python:1.0.1", func(v *SwitchValues) any { return v.PushPythonVersion }, "1.0.1"},
		{"pushVersion", "go:1.0.2", func(v *SwitchValues) any { return v.PushGoVersion }, "1.0.2"},
		{"pushVersion", "c:1.0.3", func(v *SwitchValues) any { return v.PushCVersion }, "1.0.3"},
		{"overriddenServerStatus", "READ_ONLY", func(v *SwitchValues) any { return v.OverriddenServerStatus }, status("READ_ONLY")},
		{"limitedUrlMap", "/a?b=c:d:403,/e:500", func(v *SwitchValues) any { return v.LimitedURLMap }, map[string]int{"/a?b=c:d": 403, "/e": 500}},
		{"masters", "a,b", func(v *SwitchValues) any { return v.Masters }, []string{"a", "b"}},
		{"batch", `{"healthCheckEnabled":false}`, func(v *SwitchValues) any { return []any{v.HealthCheckEnabled, v.PushEnabled} }, []any{false, true}},
		{"batch", `{"checkTimes":7}`, func(v *SwitchValues) any { return v.CheckTimes }, 7},
		{"batch", `{"healthCheckWhiteList":["a"]}`, func(v *SwitchValues) any { return v.HealthCheckWhiteList }, []string{"a"}},
		{"serverMode", "x", func(v *SwitchValues) any { return *v }, *defaultSwitches()},
	} {
		t.Run(c.entry+" "+c.value, func(t *testing.T) {
			s := NewSwitches()
			before := s.Load()
			require.NoError(t, s.Check(c.entry, c.value))
			require.Same(t, before, s.Load(), "a check changes nothing")
			require.NoError(t, s.Apply(c.entry, c.value))
			require.Equal(t, c.want, c.got(s.Load()))
			require.Equal(t, defaultSwitches(), before, "loaded values are immutable")
		})
	}
}

// TestSwitches_AreDocumented holds the table of docs/compatibility.md to the
// entries there are, and to values that they take.
func TestSwitches_AreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/compatibility.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Switches\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		entry, value := row[1], row[2]
		documented = append(documented, entry)
		s := NewSwitches()
		require.NoError(t, s.Apply(entry, value), entry)
		require.NotEqual(t, defaultSwitches(), s.Load(), "%s=%s changes something", entry, value)
	}
	known := slices.Concat(slices.Collect(maps.Keys(switchEntries)), slices.Collect(maps.Keys(periods)), []string{"batch"})
	require.ElementsMatch(t, known, documented)
}

func TestSwitches_Cleared(t *testing.T) {
	s := NewSwitches()
	require.NoError(t, s.Apply("overriddenServerStatus", "DOWN"))
	down := s.Load()
	require.NoError(t, s.Apply("batch", `{"overriddenServerStatus":"UP"}`))
	require.Equal(t, "DOWN", *down.OverriddenServerStatus)
	require.NoError(t, s.Apply("overriddenServerStatus", "null"))
	require.Nil(t, s.Load().OverriddenServerStatus)
}

func TestSwitches_WhatCannotBeChangesNothing(t *testing.T) {
	for _, c := range []struct{ entry, value, why string }{
		{"clientBeatInterval", "x", `For input string: "x"`},
		{"clientBeatInterval", "999", "too small"},
		{"clientBeatInterval", "86400001", "more than a day"},
		{"pushCacheMillis", "9223372036854775807", "more than a day"},
		{"distroServerExpiredMillis", "-1", "negative"},
		{"check", "flase", `neither true nor false: "flase"`},
		{"pushEnabled", "1", "neither true nor false"},
		{"pushCacheMillis", "9999", "min cache time for http or tcp is too small(<10000)"},
		{"defaultCacheMillis", "999", "min default cache time  is too small(<1000)"},
		{"serviceStatusSynchronizationPeriodMillis", "4999", "too small"},
		{"serverStatusSynchronizationPeriodMillis", "999", "too small"},
		{"distroThreshold", "0", "zero or negative"},
		{"distroThreshold", "NaN", "zero or negative"},
		{"distroThreshold", "x", "For input string"},
		{"healthCheckTimes", "x", "For input string"},
		{"healthCheckTimes", "0", "too small"},
		{"healthCheckTimes", "-1", "too small"},
		{"check", "maybe", `neither true nor false: "maybe"`},
		{"check", "1", "neither true nor false"},
		{"pushEnabled", "on", "neither true nor false"},
		{"pushVersion", "java:1.0", "illegal version"},
		{"pushVersion", "java", "illegal version"},
		{"pushVersion", "cobol:1.0.0", "unsupported client type: cobol"},
		{"overriddenServerStatus", "FINE", "unknown server status"},
		{"limitedUrlMap", "/a", "illegal limitedUrlMap entry"},
		{"limitedUrlMap", "/a:x", "For input string"},
		{"limitedUrlMap", "/a:99", "illegal http status"},
		{"batch", "x", "switch object incorrect"},
		{"batch", `{"tcpHealthParams":{"min":1,"max":5000,"factor":0.5}}`, "min check time"},
		{"batch", `{"httpHealthParams":{"min":500,"max":1,"factor":0.5}}`, "max check time"},
		{"batch", `{"mysqlHealthParams":{"min":500,"max":5000,"factor":2}}`, "malformed factor"},
		{"batch", `{"mysqlHealthParams":{"min":0,"max":0,"factor":0}}`, "min check time"},
		{"batch", `{"tcpHealthParams":{"min":5000,"max":4000,"factor":0.5}}`, "less than the min check time"},
		{"batch", `{"tcpHealthParams":{"min":500,"max":86400001,"factor":0.5}}`, "more than a day"},
		{"batch", `{"checkTimes":0}`, "too small"},
		{"batch", `{"distroThreshold":0}`, "zero or negative"},
		{"batch", `{"serviceStatusSynchronizationPeriodMillis":1}`, "too small"},
		{"batch", `{"clientBeatInterval":0}`, "too small"},
		{"batch", `{"defaultCacheMillis":0}`, "too small"},
		{"batch", `{"defaultPushCacheMillis":0}`, "too small"},
		{"batch", `{"overriddenServerStatus":"FINE"}`, "unknown server status"},
		{"batch", `{"pushGoVersion":"new"}`, "illegal version"},
		{"batch", `{"limitedUrlMap":{"/a":99}}`, "illegal http status"},
	} {
		s := NewSwitches()
		requireBadRequest(t, s.Check(c.entry, c.value), c.why)
		requireBadRequest(t, s.Apply(c.entry, c.value), c.why)
		require.Equal(t, defaultSwitches(), s.Load(), "%s %s", c.entry, c.value)
	}
}

func TestSwitches_RestoreTheWhole(t *testing.T) {
	a, b := NewSwitches(), NewSwitches()
	for entry, value := range map[string]string{
		"clientBeatInterval": "7000", "check": "false", "limitedUrlMap": "/a:403", "masters": "a,b",
		"overriddenServerStatus": "READ_ONLY", "pushVersion": "java:1.2.3",
		"batch": `{"healthCheckWhiteList":["x"],"adWeightMap":{"y":1},"httpHealthParams":{"max":4000,"min":600,"factor":0.5}}`,
	} {
		require.NoError(t, a.Apply(entry, value))
	}
	require.NoError(t, b.Apply("defaultCacheMillis", "9000"))
	document, err := json.Marshal(a)
	require.NoError(t, err)
	require.NoError(t, b.Restore(document))
	require.Equal(t, a.Load(), b.Load(), "nothing of before is left")

	require.NoError(t, b.Restore([]byte(`{"checkTimes":9,"later":true}`)))
	want := defaultSwitches()
	want.CheckTimes = 9
	require.Equal(t, want, b.Load())
	for _, bad := range []string{"", "[]", `{"clientBeatInterval":0}`} {
		before := b.Load()
		require.Error(t, b.Restore([]byte(bad)))
		require.Same(t, before, b.Load())
	}
}

func TestSwitches_CanPush(t *testing.T) {
	s := NewSwitches()
	for agent, want := range map[string]bool{
		"Nacos-Java-Client:v1.4.1": true,
		"Nacos-Java-Client:v0.0.9": false,
		"Nacos-Java-Client":        false,
		wire.ClientAgent:           true,
		"Nacos-CSharp-Client:v0.8": false,
		"Nacos-CSharp-Client:v0.9": true,
		"Nacos-C-Client:v1.0.12":   true,
		"vip-client4cpp:v1.0.11":   false,
		"Nacos-DNS:v0.4.3":         true,
		"Nacos-Python-Client:v1.0": false,
		"Nacos-Server:v1.4.1":      false,
		"curl/8":                   false,
	} {
		require.Equal(t, want, s.Load().CanPush(wire.ParseAgent(agent, "")), agent)
	}
	require.NoError(t, s.Apply("pushEnabled", "false"))
	require.False(t, s.Load().CanPush(wire.ParseAgent(wire.ClientAgent, "")))
}

func FuzzSwitches(f *testing.F) {
	f.Add("batch", `{"checkTimes":7,"limitedUrlMap":null}`)
	f.Add("limitedUrlMap", "/a:403,/b:500")
	f.Add("limitedUrlMap", "\x80:200")
	f.Add("pushVersion", "java:1.0.0")
	f.Add("limitedUrlMap", "/ü\x7f:500")
	f.Fuzz(func(t *testing.T, entry, value string) {
		if !utf8.ValidString(value) {
			t.Skip("no parameter gets this far")
		}
		s := NewSwitches()
		before := s.Load()
		if err := s.Apply(entry, value); err != nil {
			requireBadRequest(t, err, "")
			require.Same(t, before, s.Load())
		}
		require.Equal(t, defaultSwitches(), before)
		document, err := json.Marshal(s)
		require.NoError(t, err)
		restored := NewSwitches()
		require.NoError(t, restored.Restore(document))
		again, err := json.Marshal(restored)
		require.NoError(t, err)
		require.Equal(t, string(document), string(again))
		s.Load().CanPush(wire.ParseAgent(wire.ClientAgent, ""))
	})
}
