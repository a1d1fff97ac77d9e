package autoconfig

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"strings"
)

// tls are the keys of TLS that count. Where every server names its scheme, those for
// https count without tls.enabled, which is about servers that name none.
func (p *NacosProperties) tls() TLSProperties {
	t := p.Discovery.TLS
	servers, _ := p.servers()
	if t.given() && slices.ContainsFunc(servers, isHTTPS) && !slices.ContainsFunc(servers, namesNoScheme) {
		t.Enabled = true
	}
	return t
}

func isHTTPS(address string) bool { return strings.HasPrefix(strings.TrimSpace(address), "https://") }

func namesNoScheme(address string) bool { return !strings.Contains(address, "://") }

// given reports whether anything is said of TLS but that it is on.
func (p *TLSProperties) given() bool {
	return p.CAFile != "" || p.CertFile != "" || p.InsecureSkipVerify
}

// config reads the files; nil means that TLS is off.
func (p *TLSProperties) config() (*tls.Config, error) {
	if !p.Enabled {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: p.InsecureSkipVerify}
	if p.CAFile != "" {
		pem, err := os.ReadFile(p.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca-file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca-file: %s holds no certificate", p.CAFile)
		}
	}
	if p.CertFile != "" {
		own, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("cert-file: %w", err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}
