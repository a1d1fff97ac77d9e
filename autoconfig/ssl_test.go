package autoconfig

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writeCertificate makes a certificate for 127.0.0.1 with a name and writes it
// and its key.
func writeCertificate(t *testing.T, p SSLProperties, name string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	writePEM(t, p.Certificate, "CERTIFICATE", der)
	writePEM(t, p.CertificatePrivateKey, "PRIVATE KEY", private)
	pool := x509.NewCertPool()
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool.AddCert(certificate)
	return pool
}

func writePEM(t *testing.T, path, kind string, bytes []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
}

func sslFiles(t *testing.T) SSLProperties {
	t.Helper()
	dir := t.TempDir()
	return SSLProperties{Certificate: filepath.Join(dir, "cert.pem"), CertificatePrivateKey: filepath.Join(dir, "key.pem")}
}

func TestSSL_ServesTLSAndNothingElse(t *testing.T) {
	files := sslFiles(t)
	roots := writeCertificate(t, files, "first")
	p := DefaultServerProperties()
	p.Address, p.Port, p.SSL, p.Shutdown = "127.0.0.1", 0, files, ShutdownImmediate
	web := NewWebServer(WebServerOptions{Properties: p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Proto))
	})})
	require.NoError(t, web.Start(t.Context()))
	defer func() { require.NoError(t, web.Stop(context.Background())) }()

	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("https://" + web.Addr().String())
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "HTTP/2.0", resp.Proto)

	plain, err := http.Get("http://" + web.Addr().String())
	require.NoError(t, err)
	require.NoError(t, plain.Body.Close())
	require.Equal(t, http.StatusBadRequest, plain.StatusCode)
	http.DefaultClient.CloseIdleConnections()
}

func TestSSL_ChangedFilesAreReloadedAndBadOnesAreNot(t *testing.T) {
	files := sslFiles(t)
	writeCertificate(t, files, "first")
	var log strings.Builder
	c, err := newCertificates(files, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	served := func() string {
		t.Helper()
		c.mu.Lock()
		c.checked = time.Time{} // a second has passed
		c.mu.Unlock()
		got, err := c.config().GetCertificate(nil)
		require.NoError(t, err)
		return got.Leaf.Subject.CommonName
	}
	require.Equal(t, "first", served())

	before, err := os.ReadFile(files.CertificatePrivateKey)
	require.NoError(t, err)
	writeCertificate(t, files, "second, longer")
	after, err := os.ReadFile(files.CertificatePrivateKey)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.CertificatePrivateKey, append(before, '\n'), 0o600))
	require.Equal(t, "first", served(), "certificate and key do not fit")
	require.Equal(t, "first", served())
	require.Equal(t, 1, strings.Count(log.String(), "cannot be used"), "said once:\n%s", log.String())

	require.NoError(t, os.WriteFile(files.CertificatePrivateKey, append(after, '\n', '\n'), 0o600))
	require.Equal(t, "second, longer", served())
	require.Contains(t, log.String(), "certificate reloaded")

	require.NoError(t, os.Remove(files.Certificate))
	require.Equal(t, "second, longer", served(), "the files are away for a moment")
	writeCertificate(t, files, "third")
	require.Equal(t, "third", served())

	writeCertificate(t, files, "the fourth")
	c.mu.Lock()
	c.checked = time.Now().Add(time.Hour) // the second never passes
	c.mu.Unlock()
	got, err := c.get(nil)
	require.NoError(t, err)
	require.Equal(t, "third", got.Leaf.Subject.CommonName, "the files are looked at once a second")
}

func TestSSL_Mistakes(t *testing.T) {
	files := sslFiles(t)
	other := sslFiles(t)
	writeCertificate(t, files, "one")
	writeCertificate(t, other, "two")
	for want, p := range map[string]SSLProperties{
		"":                                   files,
		"ssl.certificate: must be set":       {CertificatePrivateKey: files.CertificatePrivateKey},
		"ssl.certificate-private-key: must":  {Certificate: files.Certificate},
		"ssl.certificate-private-key: stat":  {Certificate: files.Certificate, CertificatePrivateKey: "none"},
		"ssl.certificate: open none":         {Certificate: "none", CertificatePrivateKey: files.CertificatePrivateKey},
		"ssl.certificate: tls: private key ": {Certificate: files.Certificate, CertificatePrivateKey: other.CertificatePrivateKey},
	} {
		err := p.validate()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	_, err := newCertificates(SSLProperties{Certificate: "none", CertificatePrivateKey: "none"}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "server.ssl: ")
}
