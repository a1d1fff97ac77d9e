package server

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/server/control"
)

func TestCheck(t *testing.T) {
	web, admin := autoconfig.ServerProperties{Port: 6060}, DefaultAdminProperties()
	management := autoconfig.DefaultManagementProperties()
	require.NoError(t, Check(web, management, admin, DefaultProperties()), "a port that is not opened is nobody's")
	admin.Pprof.Enabled = true
	require.ErrorContains(t, Check(web, management, admin, DefaultProperties()), "nacos.admin.pprof.port: 6060 is the server.port")
	web.Port, management.Server.Port = 8848, 6060
	require.ErrorContains(t, Check(web, management, admin, DefaultProperties()), "nacos.admin.pprof.port: 6060 is the management.server.port")
	web.Port, web.Address = 6061, "192.0.2.1"
	management.Server = autoconfig.ManagementServerProperties{Port: 6061, Address: "127.0.0.1"}
	require.ErrorContains(t, Check(web, management, admin, DefaultProperties()), "management.server.address: has no effect",
		"whoever wants the actuator kept from others must not be told otherwise")
	management = autoconfig.DefaultManagementProperties()
	web.Port, admin.Pprof.Port = 0, 0
	require.NoError(t, Check(web, management, admin, DefaultProperties()), "each gets a free one")
	web.Port = -1
	require.ErrorContains(t, Check(web, management, admin, DefaultProperties()), "server.port")
	admin.Pprof.Port = 70000
	require.ErrorContains(t, admin.Validate(), "pprof.port")
}

func TestProfiles_OnlyWhenWantedAndOnlyHere(t *testing.T) {
	require.NotContains(t, start(t).started(), "profiles are offered")

	r := start(t, autoconfig.Property("nacos.admin.pprof.enabled", true), autoconfig.Property("nacos.admin.pprof.port", 0))
	url := regexp.MustCompile(`profiles are offered" url=(\S+)`).FindStringSubmatch(r.started())
	require.NotNil(t, url)
	require.True(t, strings.HasPrefix(url[1], "http://127.0.0.1:"), url[1])
	resp, err := r.client.Get(url[1])
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, string(body), "goroutine")
	status, _ := r.do("GET", "/nacos/debug/pprof/", nil)
	require.Equal(t, http.StatusNotFound, status, "the port for everybody has none")
}

func TestControl_WhileTheServerRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r := start(t, autoconfig.Property("nacos.storage.dir", dir))
	data, err := control.Open(t.Context(), dir, false, nil)
	require.NoError(t, err)
	require.True(t, data.Running())
	status, _ := r.do("POST", "/nacos/v1/ns/instance?serviceName=s&ip=127.0.0.1&port=1&ephemeral=false", nil)
	require.Equal(t, http.StatusOK, status)
	view, err := data.View(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, view.InstanceCount())
	require.NoError(t, data.Close())
	require.NoError(t, r.app.Stop(t.Context()))

	data, err = control.Open(t.Context(), dir, false, nil)
	require.NoError(t, err)
	require.False(t, data.Running())
	require.NoError(t, data.Close())
}
