package config

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecret_ByTheEndOfTheName(t *testing.T) {
	for _, key := range []string{
		"cloud.nacos.password", "secret-key", "token.secret.key", "jwtToken", "DB_PASSWORD", "DB_PASSWORD_2", "api-tokens", "API_KEY",
		"AWS_SECRET_ACCESS_KEY", "passwd", "Authorization", "app.mail.credentials", "x.clientSecret",
	} {
		require.True(t, Secret(key), key)
	}
	for _, key := range []string{
		"cloud.nacos.username", "secretary", "token-ttl", "password-file", "hash-key", "server.ssl.certificate-private-key", "zone", "",
	} {
		require.False(t, Secret(key), key)
	}
}

func TestMasked_WhatLooksLikeASecretWithinAText(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://ann:hunter2@db:5432/orders":          "postgres://******@db:5432/orders",
		"jdbc:mysql://ann:hunter2@db/orders":             "******@db/orders",
		"redis+tls://:hunter2@cache":                     "******@cache",
		"https://hunter2@example.com/x":                  "https://******@example.com/x",
		"ann:hunter2@tcp(db:3306)/orders":                "******@tcp(db:3306)/orders",
		"http://u:hun/ter2@h, http://v:hunter2@i":        "http://******@h, http://******@i",
		"https://example.com/?user=ann&password=hunter2": "https://example.com/?user=ann&password=******",
		"host=db user=ann password=hunter2 port=5432":    "host=db user=ann password=****** port=5432",
		"Server=db;Pwd=hunter2;Timeout=3":                "Server=db;Pwd=******;Timeout=3",
		`{"apiKey": "hunter2"}`:                          `{"apiKey": "******"}`,
		"-----BEGIN EC PRIVATE KEY-----\nhunter2":        "-----BEGIN EC PRIVATE KEY-----******",
		"https://example.com/path?page=2":                "https://example.com/path?page=2",
		"10.0.0.1:8848,10.0.0.2:8848":                    "10.0.0.1:8848,10.0.0.2:8848",
		"at 10:30 to ann@example.com":                    "at 10:30 to ann@example.com",
	} {
		require.Equal(t, want, Masked("app.url", text))
	}
	require.Equal(t, masked, Masked("app.token", "x"))
	require.Empty(t, Masked("app.token", ""))
}

type hidden struct {
	Users []struct {
		Name, Secret string
	}
	Proxy  string
	Labels map[string]string
	Addr   netip.Addr
}

// Text, as the configuration is printed, says no more than what JSON shows.
func TestEffective_TextHoldsNoSecret(t *testing.T) {
	var d hidden
	c, err := Load(Sources{Text: "app:\n  users: [{name: ann, secret: hunter2}]\n  proxy: http://u:hunter2@h\n" +
		"  labels: {DB_PASSWORD: hunter2, url: 'amqp://u:hunter2@mq', zone: a}\n  addr: 192.0.2.1\n"}, Block{"app", &d})
	require.NoError(t, err)
	require.NoError(t, c.Err())
	texts := map[string]string{}
	for _, e := range c.Effective() {
		texts[e.Key] = e.Text()
	}
	require.Equal(t, map[string]string{
		"app.users": "{name: ann, secret: ******}", "app.proxy": "http://******@h",
		"app.labels": "{DB_PASSWORD: ******, url: amqp://******@mq, zone: a}", "app.addr": "192.0.2.1",
	}, texts)
	for _, e := range c.Effective() {
		if e.Key == "app.labels" {
			require.Equal(t, map[string]any{"DB_PASSWORD": masked, "url": "amqp://******@mq", "zone": "a"}, e.Shown())
		}
	}
}

// A text that was to be JSON is not printed: a secret may be anywhere in it.
func TestLoad_BrokenJSONIsNotPrinted(t *testing.T) {
	for _, text := range []string{`{"password":"hunter2"`, `{"zone":"a","x":"hunter2 `, `['hunter2`} {
		var d hidden
		t.Setenv("APP_LABELS", text)
		c, err := Load(Sources{}, Block{"app", &d})
		require.NoError(t, err)
		require.EqualError(t, c.Err(), `app.labels: "******" must be a JSON text such as {"zone":"a"} (environment variable APP_LABELS)`)
	}
}
