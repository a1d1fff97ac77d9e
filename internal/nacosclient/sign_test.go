package nacosclient_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

func withKeys(o *nacosclient.Options) { o.AccessKey, o.SecretKey = "the-key", "the-secret" }

func TestSign_EveryCallButTheLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].RequireLogin("nacos", "s3cr&t", time.Hour)
		client := newClient(t, c, func(o *nacosclient.Options) { withKeys(o); withLogin(o) })
		require.NoError(t, client.Register(t.Context(), registration()))
		_, err := client.Beat(t.Context(), registration(), true)
		require.NoError(t, err)
		_, err = client.List(t.Context(), registry.ServiceID{Group: "g", Name: "s"}, 0, "")
		require.NoError(t, err)
		up(t, client)

		millis := strconv.FormatInt(time.Now().UnixMilli(), 10)
		want := []string{
			"", // the login
			millis + "@@DEFAULT_GROUP@@orders", millis + "@@DEFAULT_GROUP@@orders", millis + "@@g@@s", millis,
		}
		requests := c.Nodes[0].Requests("", "")
		require.Len(t, requests, len(want))
		for n, r := range requests {
			require.Equal(t, want[n], r.Query.Get("data"), r.Path)
			require.NotContains(t, r.Query.Encode()+r.Form.Encode(), "the-secret")
			if want[n] == "" {
				require.False(t, r.Query.Has("ak"))
				continue
			}
			mac := hmac.New(sha1.New, []byte("the-secret"))
			mac.Write([]byte(want[n]))
			require.Equal(t, base64.StdEncoding.EncodeToString(mac.Sum(nil)), r.Query.Get("signature"))
			require.Equal(t, "the-key", r.Query.Get("ak"))
			require.Equal(t, "token-1", r.Query.Get("accessToken"))
		}
	})
}

// A known pair, computed with another implementation:
// printf '1600000000000@@DEFAULT_GROUP@@orders' | openssl dgst -sha1 -hmac the-secret -binary | base64.
func TestSign_KnownValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(1_600_000_000_000)))
		c := testutil.NewCluster(t, 1)
		client := newClient(t, c, withKeys)
		require.NoError(t, client.Register(t.Context(), registration()))
		require.Equal(t, "nM0RViLfvscJeSjmpOJbU68XMuA=", c.Nodes[0].Requests("", "")[0].Query.Get("signature"))
	})
}

func TestSign_KeysNeedEachOther(t *testing.T) {
	for _, o := range []nacosclient.Options{{AccessKey: "a"}, {SecretKey: "b"}} {
		o.Servers = []string{"h"}
		require.ErrorContains(t, o.Validate(), "need each other")
	}
}

// With TLS the servers are trusted by the given authorities, and the client shows
// its own certificate.
func TestTLS_BothSidesShowTheirCertificates(t *testing.T) {
	node := testutil.NewFakeNacos()
	server := httptest.NewUnstartedServer(node)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	defer server.Close()
	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	address := server.Listener.Addr().String()

	ask := func(config *tls.Config) error {
		client, err := nacosclient.New(nacosclient.Options{
			Servers: []string{address}, TLS: config, MaxRetries: 1, ConnectTimeout: time.Minute, RequestTimeout: time.Minute,
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		_, err = client.ServerStatus(t.Context())
		return err
	}
	require.NoError(t, ask(&tls.Config{RootCAs: authorities, Certificates: server.TLS.Certificates}))
	require.ErrorContains(t, ask(&tls.Config{RootCAs: authorities}), "certificate")
	require.ErrorContains(t, ask(&tls.Config{RootCAs: x509.NewCertPool()}), "certificate")
	require.Len(t, node.Requests(http.MethodGet, "/ns/operator/metrics"), 1)
}
