package nacosclient_test

import (
	"crypto/tls"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
)

// urlOf returns the URL that a client asks for its status.
func urlOf(t *testing.T, o nacosclient.Options) string {
	t.Helper()
	var got string
	o.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		got = r.URL.String()
		return nil, http.ErrHandlerTimeout
	})
	o.MaxRetries = 1
	client, err := nacosclient.New(o)
	require.NoError(t, err)
	_, err = client.ServerStatus(t.Context())
	require.ErrorIs(t, err, http.ErrHandlerTimeout)
	require.NoError(t, client.Close())
	return got
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCR17_ServerAddressForms(t *testing.T) {
	for entry, want := range map[string]string{
		"localhost":                    "http://localhost:8848/nacos",
		"nacos":                        "http://nacos:8848/nacos",
		"my_host.example":              "http://my_host.example:8848/nacos",
		"192.0.2.1":                    "http://192.0.2.1:8848/nacos",
		" 192.0.2.1:9999 ":             "http://192.0.2.1:9999/nacos",
		"nacos:80/":                    "http://nacos:80/nacos",
		"[::1]:8849":                   "http://[::1]:8849/nacos",
		"[2001:db8::1]":                "http://[2001:db8::1]:8848/nacos",
		"http://nacos":                 "http://nacos/nacos",
		"http://nacos:8848/":           "http://nacos:8848/nacos",
		"https://nacos.example:443":    "https://nacos.example:443/nacos",
		"https://nacos.example/naming": "https://nacos.example/naming",
		"http://[::1]:8848/a/b/":       "http://[::1]:8848/a/b",
	} {
		t.Run(entry, func(t *testing.T) {
			require.Equal(t, want+"/v1/ns/operator/metrics", urlOf(t, nacosclient.Options{Servers: []string{entry}}))
		})
	}
	secure := nacosclient.Options{Servers: []string{"nacos"}, TLS: &tls.Config{MinVersion: tls.VersionTLS12}}
	require.Equal(t, "https://nacos:8848/nacos/v1/ns/operator/metrics", urlOf(t, secure))
}

func TestCR17_BadEntriesAreNamed(t *testing.T) {
	for _, entry := range []string{
		"", " ", "host:", "host:0", "host:65536", "host:http", ":8848", "::1", "::1:8848", "[::1", "[nacos]:8848",
		"[fe80::1%25eth0]:8848", "ftp://nacos", "http://", "http://:8848", "http://nacos:", "http://nacos:99999",
		"http://nacos?x=1", "http://nacos/a/../b", "a b", "nacos,other", "1.2.3.400", "nacos/nacos",
		"http://a b",
	} {
		t.Run(entry, func(t *testing.T) {
			err := nacosclient.Options{Servers: []string{"fine:8848", entry}}.Validate()
			require.ErrorContains(t, err, `server "`+entry+`"`)
			require.NotContains(t, err.Error(), "fine")
			_, err = nacosclient.New(nacosclient.Options{Servers: []string{entry}})
			require.Error(t, err)
		})
	}
	require.ErrorContains(t, nacosclient.Options{}.Validate(), "no server")
	require.ErrorContains(t, nacosclient.Options{Servers: []string{"nacos:8848/nacos"}}.Validate(),
		"a context path needs http:// or https:// in front of the address")
}

func TestCR17_ALoginIsRefusedAndNotPrinted(t *testing.T) {
	for _, entry := range []string{
		"http://u:hunter2@nacos", "u:hunter2@nacos:8848", "hunter2@nacos", "http://u:p@hunter2@nacos", "http://u:hunter2@na cos:x",
		"https://u:a/hunter2@nacos",
	} {
		for _, o := range []nacosclient.Options{{Servers: []string{entry}}, {Endpoint: entry, EndpointPort: 8080}} {
			err := o.Validate()
			require.ErrorContains(t, err, "a login does not stand in the address")
			require.ErrorContains(t, err, "******@na")
			require.NotContains(t, err.Error(), "hunter2")
		}
	}
}

func TestCR18_ContextPath(t *testing.T) {
	for path, want := range map[string]string{
		"": "/nacos", "/": "", "nacos": "/nacos", "/nacos/": "/nacos", "a/b": "/a/b", " /x ": "/x",
	} {
		o := nacosclient.Options{Servers: []string{"h"}, ContextPath: path}
		require.Equal(t, "http://h:8848"+want+"/v1/ns/operator/metrics", urlOf(t, o), "path %q", path)
	}
	for _, path := range []string{"/a//b", "/a/../b", "/a?b", "/a b"} {
		require.ErrorContains(t, nacosclient.Options{Servers: []string{"h"}, ContextPath: path}.Validate(), path)
	}
}

func TestCR18_EveryCallUsesTheContextPathOfItsOwnClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].RequireLogin("u", "p", time.Hour)
		use := func(path string) {
			client := newClient(t, c, func(o *nacosclient.Options) {
				o.ContextPath, o.Username, o.Password = path, "u", "p"
			})
			require.NoError(t, client.Register(t.Context(), registration()))
			_, err := client.Services(t.Context(), "", "")
			require.NoError(t, err)
		}
		use("/")
		use("/other")
		var paths []string
		for _, r := range c.Nodes[0].Requests("", "") {
			paths = append(paths, r.Path)
		}
		require.Equal(t, []string{
			"/v1/auth/users/login", "/v1/ns/instance", "/v1/ns/service/list",
			"/other/v1/auth/users/login", "/other/v1/ns/instance", "/other/v1/ns/service/list",
		}, paths)
	})
}

func TestOptions_ValidateReportsEverything(t *testing.T) {
	err := nacosclient.Options{
		Servers: []string{"a b", "c d"}, ContextPath: "x y", ConnectTimeout: -1, RequestTimeout: -1, MaxRetries: -1, Password: "p",
	}.Validate()
	for _, part := range []string{`"a b"`, `"c d"`, `"x y"`, "connect timeout", "request timeout", "max retries", "username"} {
		require.ErrorContains(t, err, part)
	}
	o := nacosclient.DefaultOptions()
	o.Servers = []string{"h"}
	require.NoError(t, o.Validate())
}

func TestClient_ServersAndHosts(t *testing.T) {
	client, err := nacosclient.New(nacosclient.Options{Servers: []string{"[::1]:8848", "nacos", "http://nacos:8848", "nacos:8848"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	require.Equal(t, []string{"[::1]:8848", "nacos"}, client.Servers(), "one server in two spellings is one")
	require.Equal(t, []string{"::1", "nacos"}, client.Hosts())
}
