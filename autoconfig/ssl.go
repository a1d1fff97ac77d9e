package autoconfig

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// SSLProperties is the block server.ssl, under Spring's names: with both files
// the web server speaks TLS 1.2 and later, and HTTP/2.
type SSLProperties struct {
	// Certificate is a PEM file with the server's certificate and those between it
	// and the root; "" is plain HTTP.
	Certificate string `mapstructure:"certificate"`
	// CertificatePrivateKey is a PEM file with the certificate's private key.
	CertificatePrivateKey string `mapstructure:"certificate-private-key"`
}

// Enabled reports whether the web server speaks TLS.
func (p *SSLProperties) Enabled() bool { return p.Certificate != "" || p.CertificatePrivateKey != "" }

func (p *SSLProperties) validate() error {
	switch {
	case !p.Enabled():
		return nil
	case p.Certificate == "":
		return errors.New("ssl.certificate: must be set together with certificate-private-key")
	case p.CertificatePrivateKey == "":
		return errors.New("ssl.certificate-private-key: must be set together with certificate")
	}
	if _, err := os.Stat(p.CertificatePrivateKey); err != nil {
		return fmt.Errorf("ssl.certificate-private-key: %w", err)
	}
	if _, err := tls.LoadX509KeyPair(p.Certificate, p.CertificatePrivateKey); err != nil {
		return fmt.Errorf("ssl.certificate: %w", err)
	}
	return nil
}

// certificateCheck is how often the files are looked at, at most.
const certificateCheck = time.Second

// certificates hands out the certificate of two files, and the new one after
// they changed. While what is in them does not fit together, as in the middle of
// an exchange, the one before serves on. The files are looked at when somebody
// connects, so that nothing runs while nobody does.
type certificates struct {
	files  SSLProperties
	logger *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	state   [2]fileState // of the files that current was read from, or that failed
	checked time.Time
}

// fileState tells one content of a file from another.
type fileState struct {
	modified time.Time
	size     int64
}

func newCertificates(p SSLProperties, logger *slog.Logger) (*certificates, error) {
	c := &certificates{files: p, logger: logger, checked: time.Now()}
	c.state, _ = c.look() // before reading, so that a change between the two is seen
	pair, err := tls.LoadX509KeyPair(p.Certificate, p.CertificatePrivateKey)
	if err != nil {
		return nil, fmt.Errorf("server.ssl: %w", err)
	}
	c.current = &pair
	return c, nil
}

func (c *certificates) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

// get is called for each handshake.
func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= certificateCheck {
		c.checked = now
		c.reload()
	}
	return c.current, nil
}

func (c *certificates) reload() {
	state, err := c.look()
	if err == nil && state == c.state {
		return
	}
	if err == nil {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.files.Certificate, c.files.CertificatePrivateKey); err == nil {
			c.current = &pair
			c.logger.Info("certificate reloaded", "file", c.files.Certificate, "valid-until", pair.Leaf.NotAfter)
		}
	}
	if err != nil && state != c.state {
		c.logger.Warn("the new certificate cannot be used, the one before serves on", "error", err)
	}
	c.state = state
}

// look returns the state of both files; that of a missing one is zero.
func (c *certificates) look() (state [2]fileState, failed error) {
	for i, path := range [...]string{c.files.Certificate, c.files.CertificatePrivateKey} {
		info, err := os.Stat(path)
		if err != nil {
			failed = err
			continue
		}
		state[i] = fileState{info.ModTime(), info.Size()}
	}
	return state, failed
}
