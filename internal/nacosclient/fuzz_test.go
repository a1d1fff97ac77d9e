package nacosclient_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/registry"
)

// saying answers every request with the status and the body.
func saying(status int, body string) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
		}, nil
	}
}

// FuzzServerList: whatever an address server says, requests go only to HTTP URLs
// with a host and without a login, and there is a list or an error.
func FuzzServerList(f *testing.F) {
	for _, seed := range []string{
		"192.0.2.1\n192.0.2.2:8849\n\n# a comment\n[2001:db8::1]:8848\r\n", "https://nacos.example/naming\nhttp://[::1]:1/a/b/",
		"http://user:secret@192.0.2.1:8848", "http://192.0.2.1:8848/nacos?x=1#y", "http:///", "a:b:c", "[::1", "<html>", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		var asked []*url.URL
		client, err := nacosclient.New(nacosclient.Options{
			Endpoint: "192.0.2.100", MaxRetries: 1,
			Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == "192.0.2.100:8080" && r.URL.Path == "/nacos/serverlist" {
					return saying(http.StatusOK, list)(r)
				}
				asked = append(asked, r.URL)
				return nil, http.ErrHandlerTimeout
			}),
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()

		err = client.Ready(t.Context())
		require.Equal(t, err == nil, len(client.Servers()) > 0, "a list or an error: %v", err)
		_, err = client.ServerStatus(t.Context())
		require.Error(t, err)
		for _, u := range asked {
			require.Contains(t, []string{"http", "https"}, u.Scheme)
			require.NotEmpty(t, u.Hostname())
			require.Nil(t, u.User)
			require.Empty(t, u.Fragment)
		}
	})
}

// FuzzAnswers: whatever a registry answers, a call ends, and what is none of its
// answers is an error.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		"ok", " ok\n", "{}", "null", "[]", `{"hosts":[]}`, `{"hosts":null}`, `{"hosts":[{"ip":"192.0.2.1","port":"80","weight":1e400}]}`,
		`{"count":1,"doms":["orders"]}`, `{"status":"UP"}`, `{"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`,
		`{"clientBeatInterval":-9223372036854775808,"code":"20404"}`,
		`{"accessToken":"a.b.c","tokenTtl":9223372036854775807}`, `{"accessToken":"\u0000\n","tokenTtl":-1}`,
		`{"message":"` + strings.Repeat("x", 600) + `"}`, "<html>",
	} {
		f.Add(http.StatusOK, seed)
		f.Add(http.StatusForbidden, seed)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		client, err := nacosclient.New(nacosclient.Options{
			Servers: []string{"192.0.2.1"}, Username: "fleet", Password: "secret", MaxRetries: 1, Transport: saying(status, body),
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()

		registered := client.Register(t.Context(), registration())
		require.Equal(t, status/100 == 2 && strings.TrimSpace(body) == "ok", registered == nil, "%v", registered)
		if list, err := client.List(t.Context(), registry.ServiceID{Name: "orders"}, 0, ""); err == nil {
			require.NotNil(t, list.Hosts)
		}
		if names, err := client.Services(t.Context(), "", ""); err == nil {
			require.NotNil(t, names)
		}
		if said, err := client.ServerStatus(t.Context()); err == nil {
			require.NotEmpty(t, said)
		}
		if reply, err := client.Beat(t.Context(), registration(), false); err == nil {
			require.False(t, reply.Code == 0 && reply.ClientBeatInterval == 0)
		}
	})
}
