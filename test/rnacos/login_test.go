package rnacos

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	discoverynacos "github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/registry/nacos"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	proves(t, suite, "login: refused without one and with a wrong password, everything works with the right one (C-R10)")
	const user, password = "shop", "open & shut+%/Ä"
	p := newPeer(t, "RNACOS_ENABLE_OPEN_API_AUTH=true",
		"RNACOS_INIT_ADMIN_USERNAME="+user, "RNACOS_INIT_ADMIN_PASSWORD="+password)
	p.ready = func() error {
		_, err := p.call(http.MethodPost, "/v1/auth/users/login", url.Values{"username": {user}, "password": {password}})
		return err
	}
	p.start(t)
	reg := registration(8080)

	require.ErrorContains(t, p.newRegistry(t, nacos.Options{}).Register(t.Context(), reg), "status 403")
	_, err := p.newSource(t, discoverynacos.Options{}).Fetch(t.Context(), orders)
	require.ErrorContains(t, err, "status 403")
	wrong := p.newRegistry(t, nacos.Options{Connection: nacos.Connection{Username: user, Password: "wrong"}})
	require.ErrorContains(t, wrong.Register(t.Context(), reg), "status 403")

	r := p.newRegistry(t, nacos.Options{Connection: nacos.Connection{Username: user, Password: password}})
	s := p.newSource(t, discoverynacos.Options{Connection: discoverynacos.Connection{Username: user, Password: password}})
	require.NoError(t, r.Register(t.Context(), reg))
	require.NoError(t, lists(t, s, reg))
	names, err := s.Services(t.Context(), "", "")
	require.NoError(t, err)
	require.Equal(t, []string{orders.Name}, names)
	require.NoError(t, r.Deregister(t.Context(), reg))
	require.NoError(t, lists(t, s))
}
