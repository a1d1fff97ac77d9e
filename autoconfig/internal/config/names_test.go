package config

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKebab(t *testing.T) {
	for name, want := range map[string]string{
		"Name": "name", "ServerAddr": "server-addr", "IP": "ip", "IPType": "ip-type",
		"DefaultIPAddress": "default-ip-address", "UseHTTPS": "use-https", "MaxConnsPerHost": "max-conns-per-host",
	} {
		require.Equal(t, want, kebab(name), name)
	}
}

func TestUniform_FoldsTheSpellingsOfOneName(t *testing.T) {
	for _, spelling := range []string{"server-addr", "serverAddr", "server_addr", "ServerAddr", "SERVER_ADDR"} {
		require.Equal(t, "serveraddr", uniform(spelling), spelling)
	}
}

func TestEnvName(t *testing.T) {
	require.Equal(t, "CLOUD_NACOS_DISCOVERY_SERVER_ADDR", EnvName("cloud.nacos.discovery.server-addr"))
}

func TestSecret(t *testing.T) {
	for key, want := range map[string]bool{
		"cloud.nacos.password": true, "cloud.nacos.discovery.secret-key": true, "a.accessToken": true,
		"a.client_secret": true, "cloud.nacos.username": false, "a.password.length": false,
	} {
		require.Equal(t, want, Secret(key), key)
	}
}

func TestFieldName_TagsWin(t *testing.T) {
	type tagged struct {
		OnConnectError bool `mapstructure:"retry-on-connect-error"`
		MaxIdle        int
	}
	typ := reflect.TypeFor[tagged]()
	require.Equal(t, "retry-on-connect-error", fieldName(typ.Field(0)))
	require.Equal(t, "max-idle", fieldName(typ.Field(1)))
}
