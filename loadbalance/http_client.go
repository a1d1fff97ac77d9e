package loadbalance

import (
	"net"
	"net/http"
	"time"
)

// Defaults of [BaseTransportOptions].
const (
	DefaultConnectTimeout      = 2 * time.Second
	DefaultMaxIdleConnsPerHost = 50
)

// BaseTransportOptions configures [NewBaseTransport]; the zero value is the
// default.
type BaseTransportOptions struct {
	// ConnectTimeout bounds the making of a connection; 0 is
	// [DefaultConnectTimeout].
	ConnectTimeout time.Duration
	// ResponseTimeout bounds the wait for a response's header once the request was
	// written; 0 means no bound.
	ResponseTimeout time.Duration
	// MaxIdleConnsPerHost bounds the connections kept for reuse per instance; 0 is
	// [DefaultMaxIdleConnsPerHost].
	MaxIdleConnsPerHost int
	// MaxConnsPerHost bounds all connections per instance; 0 means no bound.
	MaxConnsPerHost int
}

// NewBaseTransport returns a transport that suits calls between services: it
// gives up on a dead address soon, so that another can be tried, and keeps
// enough connections per instance. It goes through no proxy, since instances
// are addresses inside the network.
func NewBaseTransport(o BaseTransportOptions) *http.Transport {
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = DefaultConnectTimeout
	}
	if o.MaxIdleConnsPerHost == 0 {
		o.MaxIdleConnsPerHost = DefaultMaxIdleConnsPerHost
	}
	return &http.Transport{
		DialContext:           newDialer(o).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: o.ResponseTimeout,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   o.MaxIdleConnsPerHost,
		MaxConnsPerHost:       o.MaxConnsPerHost,
		ForceAttemptHTTP2:     true,
	}
}

// newDialer returns what makes the connections.
func newDialer(o BaseTransportOptions) *net.Dialer {
	return &net.Dialer{Timeout: o.ConnectTimeout, KeepAlive: 30 * time.Second}
}

// HTTPClient is an HTTP client that calls by name. It is a type of its own so
// that it and a plain *http.Client can both be in an application's graph
// (Spring's @LoadBalanced).
type HTTPClient struct{ *http.Client }

// NewHTTPClient returns a client over a transport by name. It has no timeout of
// its own: give each request a context with one.
func NewHTTPClient(rt http.RoundTripper) *HTTPClient {
	return &HTTPClient{&http.Client{Transport: rt}}
}
