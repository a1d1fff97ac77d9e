package api

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/server/state"
)

// TestSwitches_AreObeyedAtOnce sets each switch that shows in an answer and looks
// there. What beats and the gate obey has tests of its own, and so has what expiry
// and probes do ([naming.Switches], [projection.ProbeParams]).
func TestSwitches_AreObeyedAtOnce(t *testing.T) {
	cacheMillis := func(pairs ...string) func(*fixture) string {
		return func(f *fixture) string {
			return strconv.FormatInt(f.list(append(pairs, "serviceName", "s")...).CacheMillis, 10)
		}
	}
	pushedTo := func(agent string) func(*fixture) string {
		return func(f *fixture) string {
			f.agent = agent
			defer func() { f.agent = "" }()
			return cacheMillis("udpPort", "50000", "clientIP", "127.0.0.1")(f)
		}
	}
	beat := func(f *fixture) string {
		at := []string{"serviceName", "b", "ip", "192.0.2.7", "port", "80"}
		f.want("200 ok", "POST instance", append(at, "ephemeral", "true")...)
		return f.wantStatus(200, "PUT instance/beat", at...)
	}
	kind := func(f *fixture) string {
		at := []string{"serviceName", "k", "ip", "192.0.2.7", "port", "80"}
		f.want("200 ok", "POST instance", at...)
		ephemeral := f.list(at...).Hosts[0].Ephemeral
		f.want("200 ok", "DELETE instance", at...)
		return strconv.FormatBool(ephemeral)
	}
	tests := []struct {
		entry, value string
		shows        func(*fixture) string
		before, now  string
	}{
		{"defaultCacheMillis", "4000", cacheMillis(), "3000", "4000"},
		{"pushCacheMillis", "20000", pushedTo(java14), "10000", "20000"},
		{"pushEnabled", "false", pushedTo(java14), "10000", "3000"},
		{"pushVersion", "java:1.4.2", pushedTo(java14), "10000", "3000"},
		{"pushVersion", "go:2.0.0", pushedTo(goSDK), "10000", "3000"},
		{"pushVersion", "python:0.4.4", pushedTo("Nacos-DNS:v0.4.3"), "10000", "3000"},
		{"pushVersion", "c:1.0.11", pushedTo("Nacos-C-Client:v1.0.11"), "3000", "10000"},
		{
			"clientBeatInterval", "7000", beat, `{"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`,
			`{"clientBeatInterval":7000,"code":10200,"lightBeatEnabled":true}`,
		},
		{
			"lightBeatEnabled", "false", beat, `{"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`,
			`{"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":false}`,
		},
		{"defaultInstanceEphemeral", "false", kind, "true", "false"},
	}
	for _, test := range tests {
		t.Run(test.entry+" "+test.value, func(t *testing.T) {
			for _, debug := range []string{"false", "true"} {
				f := newFixture(t)
				require.Equal(t, test.before, test.shows(f))
				f.want("200 ok", "PUT operator/switches", "entry", test.entry, "value", test.value, "debug", debug)
				require.Equal(t, test.now, test.shows(f))
			}
		})
	}
}

func TestSwitches_ManyAtOnceAllHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, func(o *Options) {
			o.Proposer = proposerFunc(func(ctx context.Context, command []byte) (any, error) {
				time.Sleep(time.Millisecond) // for everybody to arrive
				return f.proposer.Propose(ctx, command)
			})
		})
		var all sync.WaitGroup
		for _, set := range [][2]string{
			{"defaultCacheMillis", "4000"},
			{"pushCacheMillis", "20000"},
			{"clientBeatInterval", "7000"},
			{"healthCheckTimes", "5"},
			{"distroThreshold", "0.5"},
			{"distroServerExpiredMillis", "20000"},
			{"serverStatusSynchronizationPeriodMillis", "3000"},
			{"serviceStatusSynchronizationPeriodMillis", "6000"},
			{"check", "false"},
			{"distro", "false"},
			{"pushEnabled", "false"},
			{"disableAddIP", "true"},
			{"sendBeatOnly", "true"},
			{"lightBeatEnabled", "false"},
			{"pushVersion", "java:1.4.2"},
			{"pushVersion", "go:1.1.0"},
		} {
			for _, value := range []string{set[1], set[1]} {
				all.Go(func() {
					w := f.send("PUT operator/switches", "entry", set[0], "value", value)
					assert.Equal(t, "200 ok", strconv.Itoa(w.Code)+" "+w.Body.String(), set[0])
				})
			}
		}
		all.Wait()
		v := f.switches.Load()
		require.Equal(t, uint64(16), f.state.View().Switches().Revision, "what is so already is not stored again")
		require.Equal(t, []any{int64(4000), int64(20000), int64(7000), 5, "1.4.2", "1.1.0"}, []any{
			v.DefaultCacheMillis, v.DefaultPushCacheMillis, v.ClientBeatInterval, v.CheckTimes, v.PushJavaVersion, v.PushGoVersion,
		})
	})
}

// TestSwitches_OthersAreFaster has another server change something before each
// proposal arrives: that is nobody's mistake, and nothing half is left.
func TestSwitches_OthersAreFaster(t *testing.T) {
	var f *fixture
	times := 0
	f = newFixture(t, func(o *Options) {
		o.Proposer = proposerFunc(func(ctx context.Context, command []byte) (any, error) {
			if times > 0 {
				times--
				seen := f.state.View().Switches().Revision
				f.apply(&state.SetSwitches{Object: json.RawMessage(`{"checkTimes":` + strconv.FormatUint(seen+4, 10) + `}`), Seen: seen})
			}
			return f.proposer.Propose(ctx, command)
		})
	})
	set := []string{"entry", "defaultCacheMillis", "value", "4000"}
	times = maxSwitchTries
	f.want("503 caused: "+errSwitchesBusy.message+";", "PUT operator/switches", set...)
	require.Equal(t, int64(3000), f.switches.Load().DefaultCacheMillis)
	times = maxSwitchTries - 1
	f.want("200 ok", "PUT operator/switches", set...)
	require.Equal(t, int64(4000), f.switches.Load().DefaultCacheMillis)
	require.Equal(t, int(f.state.View().Switches().Revision)+2, f.switches.Load().CheckTimes, "that of the other server")
}

// proposerFunc is a state.Proposer of a function.
type proposerFunc func(context.Context, []byte) (any, error)

func (p proposerFunc) Propose(ctx context.Context, command []byte) (any, error) {
	return p(ctx, command)
}

func TestSwitches_WhatIsRefusedLeavesEverything(t *testing.T) {
	f := newFixture(t)
	f.want("200 ok", "PUT operator/switches", "entry", "healthCheckTimes", "value", "5")
	f.want("200 ok", "PUT operator/switches", "entry", "defaultCacheMillis", "value", "4000", "debug", "true")
	before, stored := f.wantStatus(200, "GET operator/switches"), f.state.View().Switches()
	for entry, value := range map[string]string{
		"clientBeatInterval": "1", "pushCacheMillis": "9999", "defaultCacheMillis": "999", "distroThreshold": "0",
		"serviceStatusSynchronizationPeriodMillis": "4999", "serverStatusSynchronizationPeriodMillis": "999",
		"distroServerExpiredMillis": "x", "healthCheckTimes": "0", "check": "no", "distro": "0", "pushEnabled": "off",
		"disableAddIP": "yes", "sendBeatOnly": "t", "lightBeatEnabled": "1", "defaultInstanceEphemeral": "y",
		"autoChangeHealthCheckEnabled": "x", "pushVersion": "rust:1.0.0", "overriddenServerStatus": "up",
		"limitedUrlMap": "/a", "batch": `{"checkTimes":9,"clientBeatInterval":1}`,
	} {
		for _, debug := range []string{"false", "true"} {
			f.wantStatus(400, "PUT operator/switches", "entry", entry, "value", value, "debug", debug)
		}
	}
	after := f.wantStatus(200, "GET operator/switches")
	require.Equal(t, before, after)
	require.Equal(t, stored, f.state.View().Switches())
}
