package nacosclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// closeTimeout bounds Close (C-R4).
const closeTimeout = 2 * time.Second

// Client calls the naming API of a Nacos registry. It is safe for concurrent
// use.
type Client struct {
	options   Options
	servers   *servers
	transport http.RoundTripper
	// ownTransport is transport where the client made it, else nil.
	ownTransport *http.Transport
	session      *session
	upkeep       *upkeep
	logger       *slog.Logger

	// ctx ends with the client and takes every call along.
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	calls  int
	// idle is closed when the client is closed and its last call has ended.
	idle chan struct{}
}

// New returns a client. It connects to nothing yet, and nothing runs until the
// first call.
func New(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("nacos client: %w", err)
	}
	o = o.withDefaults()
	all, err := o.endpoints()
	if err != nil {
		return nil, fmt.Errorf("nacos client: %w", err)
	}
	address, err := o.addressServer()
	if err != nil {
		return nil, fmt.Errorf("nacos client: %w", err)
	}
	pick := o.Rand
	if pick == nil {
		pick = rand.IntN
	}
	c := &Client{
		options: o,
		servers: newServers(all, pick),
		session: newSession(o.Username, o.Password),
		logger:  o.Logger,
		idle:    make(chan struct{}),
	}
	c.transport = o.Transport
	if c.transport == nil {
		c.ownTransport = newTransport(o)
		c.transport = c.ownTransport
		if o.Lookup == nil {
			o.Lookup = net.DefaultResolver.LookupNetIP
		}
	}
	c.upkeep = newUpkeep(o, address, o.Lookup)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// newTransport makes the client's own connections. Proxies of the environment
// are not used: a registry is a neighbour.
func newTransport(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: o.ConnectTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     o.TLS,
		TLSHandshakeTimeout: o.ConnectTimeout,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     time.Minute,
	}
}

// Close ends the calls in flight, waits for them at most two seconds, and closes
// the connections. It is idempotent.
func (c *Client) Close() error {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		c.cancel()
		if c.calls == 0 {
			close(c.idle)
		}
	}
	c.mu.Unlock()

	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	var err error
	select {
	case <-c.idle:
	case <-timer.C:
		c.mu.Lock()
		if c.calls > 0 {
			err = fmt.Errorf("close nacos client: %d calls did not end within %v", c.calls, closeTimeout)
		}
		c.mu.Unlock()
	}
	if c.ownTransport != nil {
		c.ownTransport.CloseIdleConnections()
	}
	return err
}

// begin counts a call in and bounds it: by the caller's context, by the total
// budget (C-R9) and by the life of the client. The caller must call end.
func (c *Client) begin(ctx context.Context) (_ context.Context, end func(), _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	c.calls++
	ctx, cancel := context.WithTimeout(ctx, 2*c.options.RequestTimeout)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls--
		if c.closed && c.calls == 0 {
			close(c.idle)
		}
	}, nil
}

// RequestTimeout is how long one request to one server may take.
func (c *Client) RequestTimeout() time.Duration { return c.options.RequestTimeout }

// Servers returns the servers, duplicates left out: the configured ones, or those
// the address server last listed.
func (c *Client) Servers() []string {
	all := c.servers.list()
	entries := make([]string, len(all))
	for i, e := range all {
		entries[i] = e.entry
	}
	return entries
}

// SetServers replaces the servers of a client with a fixed list, from the next
// request on; the error names each bad entry, and changes nothing. Registrations
// kept over the client reach the new servers with their next beat.
func (c *Client) SetServers(servers []string) error {
	if c.upkeep.address.base != "" {
		return errors.New("the address server says which servers there are")
	}
	o := c.options
	o.Servers = servers
	all, err := o.endpoints()
	if err != nil {
		return fmt.Errorf("nacos client: %w", err)
	}
	if c.servers.replace(all) {
		c.logger.Info("the registry's servers", slog.Any("servers", c.Servers()))
	}
	return nil
}

// Hosts returns the host names or addresses of the servers, without ports.
func (c *Client) Hosts() []string {
	all := c.servers.list()
	hosts := make([]string, len(all))
	for i, e := range all {
		hosts[i] = e.host
	}
	return hosts
}

// LoginError returns why the last login failed; nil when it succeeded or none is
// wanted (C-R10).
func (c *Client) LoginError() error { return c.session.lastError() }
