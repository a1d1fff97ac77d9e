package server

import (
	"context"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/server/naming"
)

// read builds the server's graph, without starting it, and returns the block.
func read(t *testing.T, opts ...fx.Option) (Properties, autoconfig.ServerProperties, error) {
	t.Helper()
	var p Properties
	var web autoconfig.ServerProperties
	var store *naming.Store
	t.Chdir(t.TempDir()) // the data directory is a relative path by default
	app, err := autoconfig.New(append([]fx.Option{
		Module, fx.Populate(&p, &web, &store),
	}, opts...)...)
	if err == nil {
		require.NoError(t, app.Start(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // waits for nothing
		require.NoError(t, app.Stop(ctx))
	}
	return p, web, err
}

func TestProperties_SampleIsTheDefaults(t *testing.T) {
	free := autoconfig.Property("server.port", 0)
	sample, err := filepath.Abs("../configs/server.yaml")
	require.NoError(t, err)
	p, web, err := read(t, autoconfig.ConfigFile(sample), free)
	require.NoError(t, err)
	require.Equal(t, DefaultProperties(), p)
	_, defaults, err := read(t, autoconfig.ConfigYAML("{}"), free)
	require.NoError(t, err)
	require.Equal(t, defaults, web)
	require.Equal(t, "/nacos", web.ContextPath)
}

func TestProperties_NacosNames(t *testing.T) {
	t.Setenv("NACOS_PUSH_REQUESTER_ONLY", "true")
	p, _, err := read(t, autoconfig.Property("server.port", 0), autoconfig.ConfigYAML(`
nacos.naming.expireInstance: false
nacos.naming.empty-service.auto-clean: false
nacos.naming.empty-service.clean.initial-delay-ms: 1000
nacos.naming.empty-service.clean.period-time-ms: 2000
`))
	require.NoError(t, err)
	require.True(t, p.push().RequesterOnly)
	require.Equal(t, naming.Options{
		KeepExpired: true, KeepEmpty: true, SweepDelay: time.Second, SweepPeriod: 2 * time.Second,
	}, p.naming())
}

func TestProperties_MistakesStopTheStart(t *testing.T) {
	for yaml, want := range map[string]string{
		"nacos: {core: {auth: {enable: {userAgentAuthWhite: true}}}}":          "no agent is trusted",
		"nacos: {core: {auth: {default: {token: {secret: {key: c2hvcnQ=}}}}}}": "nacos.core.auth.default.token.secret.key",
		"nacos: {core: {auth: {default: {token: {expire: {seconds: 0}}}}}}":    "nacos.core.auth.default.token.expire.seconds",
		"nacos: {storage: {dir: ''}}":                                          "nacos.storage.dir",
		"nacos: {storage: {snapshot-period: 1ms}}":                             "nacos.storage.snapshot-period",
		"nacos: {probe: {workers: 0}}":                                         "nacos.probe.workers",
		"nacos: {push: {window: 0s, max-subscriptions: 0}}":                    "nacos.push.max-subscriptions",
		"nacos: {push: {address: localhost}}":                                  "nacos.push.address",
		"nacos: {naming: {empty-service: {clean: {period-time-ms: 0}}}}":       "nacos.naming.empty-service.clean.period-time-ms",
		"nacos: {naming: {empty-service: {clean: {initial-delay-ms: -1}}}}":    "nacos.naming.empty-service.clean.initial-delay-ms",
		"nacos: {load: {max-requests: 1}}":                                     "nacos.load.max-requests",
		"nacos: {load: {max-wait: -1s}}":                                       "nacos.load.max-wait",
		"nacos: {naming: {expireInstance: perhaps}}":                           "nacos.naming.expireInstance",
	} {
		_, _, err := read(t, autoconfig.ConfigYAML(yaml))
		require.ErrorContains(t, err, want)
	}
}

func TestVersion(t *testing.T) {
	revision := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}}
	for want, info := range map[string]debug.BuildInfo{
		"development":                {Main: debug.Module{Version: "(devel)"}},
		"development (0123456789ab)": {Settings: revision},
		"v1.2.3 (0123456789ab)":      {Main: debug.Module{Version: "v1.2.3"}, Settings: revision},
		"v0.0.0-1-0123456789ab":      {Main: debug.Module{Version: "v0.0.0-1-0123456789ab"}, Settings: revision},
	} {
		require.Equal(t, want, version(&info))
	}
	require.NotEmpty(t, Version())
}
