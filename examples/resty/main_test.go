package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
	"github.com/rollcall-go/rollcall/server"
)

func TestRestyCallsByName(t *testing.T) {
	app, err := autoconfig.New(server.Module, autoconfig.ConfigYAML(`
server: { address: 127.0.0.1, port: 0, lame-duck: 0s }
nacos: { storage: { in-memory: true } }
logging: { level: error }
`))
	require.NoError(t, err)
	require.NoError(t, app.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, app.Stop(context.Background())) })

	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello from %s", r.URL.Path)
	}))
	defer web.Close()
	backend, err := nacos.New(nacos.Options{Connection: nacos.Connection{Servers: []string{app.Addr().String()}}})
	require.NoError(t, err)
	defer backend.Close()
	address := netip.MustParseAddrPort(web.Listener.Addr().String())
	instance := registry.NewInstance(registry.ServiceID{Name: "greeter"}, address.Addr().String(), int(address.Port()))
	require.NoError(t, backend.Register(t.Context(), registry.Registration{Instance: instance}))

	out := new(bytes.Buffer)
	require.NoError(t, run(t.Context(), app.Addr().String(), "http://greeter/meet", out))
	require.Equal(t, "GET http://greeter/meet answered 200 OK: \"hello from /meet\"\n", out.String())

	err = run(t.Context(), app.Addr().String(), "http://nobody/meet", out)
	require.ErrorContains(t, err, `no instance available of service "nobody"`)
	require.ErrorContains(t, err, "the most similar are greeter")
}
