package nacosclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// serverListPath is where an address server has the list of servers.
const serverListPath = "/nacos/serverlist"

// upkeep is what has to be looked after now and then: the list of an address
// server, and the addresses behind the servers' names. It is done while the client
// is in use, so that an idle one costs nothing.
type upkeep struct {
	// address is the address server; its base is "" where the list is fixed.
	address endpoint
	// lookup is nil where names are left to the transport.
	lookup Lookup
	every  time.Duration
	// turn is held by whoever does it.
	turn chan struct{}

	mu sync.Mutex
	// next is when it is due, attempts how often it was done.
	next     time.Time
	attempts uint64
	// err is why the list is not up to date, complaint what was said last of its
	// lines.
	err       error
	complaint string
	// found are the addresses of the names; only whoever has the turn uses it.
	found map[string][]netip.Addr
}

// Lookup has the form of [net.Resolver.LookupNetIP].
type Lookup = func(ctx context.Context, network, host string) ([]netip.Addr, error)

func newUpkeep(o Options, address endpoint, lookup Lookup) *upkeep {
	return &upkeep{
		address: address, lookup: lookup, every: o.ServerListRefresh, turn: make(chan struct{}, 1),
		found: make(map[string][]netip.Addr),
	}
}

// due reports whether it is time, and lets only one caller know.
func (u *upkeep) due(now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Before(u.next) {
		return false
	}
	u.next = now.Add(u.every)
	return true
}

// last returns how the last attempt to get the list ended, and its number.
func (u *upkeep) last() (attempt uint64, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.attempts, u.err
}

// note records an attempt and reports whether it failed after one that did not.
func (u *upkeep) note(err error, now time.Time) (first bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	first = err != nil && u.err == nil
	u.err, u.next = err, now.Add(u.every)
	u.attempts++
	return first
}

// ServerListError returns why the list of the address server is not up to date;
// nil when it is, or when the list is fixed. A list that was had once stays in
// use.
func (c *Client) ServerListError() error {
	_, err := c.upkeep.last()
	return err
}

// Ready waits until the servers are known. With a fixed list they always are.
func (c *Client) Ready(ctx context.Context) error {
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return c.ready(ctx)
}

// ready sees to the upkeep: it waits for the first list of servers, and starts
// everything later behind the caller's back.
func (c *Client) ready(ctx context.Context) error {
	u := c.upkeep
	if u.address.base != "" && len(c.servers.list()) == 0 {
		return c.firstList(ctx)
	}
	named := u.lookup != nil && slices.ContainsFunc(c.servers.list(), endpoint.named)
	if u.address.base == "" && !named || !u.due(time.Now()) {
		return nil
	}
	ctx, end, err := c.begin(c.ctx)
	if err != nil {
		return err
	}
	go func() {
		defer end()
		select {
		case u.turn <- struct{}{}:
			defer func() { <-u.turn }()
		case <-ctx.Done():
			return
		}
		_ = c.fetchList(ctx) // it is kept for ServerListError
		c.resolve(ctx)
	}()
	return nil
}

// firstList fetches the list for all who wait for it.
func (c *Client) firstList(ctx context.Context) error {
	before, _ := c.upkeep.last()
	select {
	case c.upkeep.turn <- struct{}{}:
		defer func() { <-c.upkeep.turn }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the list of servers: %w", ctx.Err())
	}
	if len(c.servers.list()) > 0 {
		return nil
	}
	if attempt, err := c.upkeep.last(); attempt != before && err != nil {
		return err // of somebody who waited less long
	}
	return c.fetchList(ctx)
}

// fetchList brings the servers in line with the address server.
func (c *Client) fetchList(ctx context.Context) error {
	u := c.upkeep
	if u.address.base == "" {
		return nil
	}
	all, err := c.askAddressServer(ctx)
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	if err != nil {
		err = fmt.Errorf("list of servers: %w", err)
	}
	if u.note(err, time.Now()) {
		c.logger.Warn("the list of the registry's servers cannot be refreshed", slog.Any("error", err))
	}
	if err == nil && c.servers.replace(all) {
		c.logger.Info("the registry's servers", slog.Any("servers", c.Servers()))
	}
	return err
}

func (c *Client) askAddressServer(ctx context.Context) (all []endpoint, err error) {
	r := request{
		method: http.MethodGet, path: serverListPath, limit: smallAnswer, unsigned: true,
		decode: func(body []byte) error {
			all, err = c.parseServerList(body)
			return err
		},
	}
	if c.options.Namespace != wire.PublicNamespace {
		r.query = url.Values{"namespace": {c.options.Namespace}}
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.RequestTimeout)
	defer cancel()
	return all, c.send(ctx, c.upkeep.address, r, "")
}

// parseServerList reads one server a line. A line that is none is reported, once,
// and left out; a list without a server is none, and so is a page, whose words
// could pass for hosts.
func (c *Client) parseServerList(body []byte) ([]endpoint, error) {
	contextPath, err := parseContextPath(c.options.ContextPath)
	if err != nil {
		return nil, err
	}
	var all []endpoint
	var wrong []string
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "<") || strings.HasPrefix(line, "{") {
			return nil, errors.New("the answer is no list of servers, one a line")
		}
		e, err := parseServer(line, c.options.scheme(), contextPath)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%q %v", wire.Excerpt(withoutLogin(line)), err))
			continue
		}
		if !slices.ContainsFunc(all, func(known endpoint) bool { return known.base == e.base }) {
			all = append(all, e)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("the answer lists no server")
	}
	if c.upkeep.complains(strings.Join(wrong, "\n")) {
		c.logger.Warn("the address server lists what is no server", slog.Int("lines", len(wrong)), slog.String("first", wrong[0]))
	}
	return all, nil
}

// complains notes what is wrong with a list and reports whether that is new.
func (u *upkeep) complains(text string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	is := text != "" && text != u.complaint
	u.complaint = text
	return is
}

// resolve looks the servers' names up again. Where one leads elsewhere now, the
// connections that wait for a request are closed: they would lead to the old
// address for as long as there is traffic on them.
func (c *Client) resolve(ctx context.Context) {
	u := c.upkeep
	if u.lookup == nil {
		return
	}
	moved := false
	found := make(map[string][]netip.Addr)
	for _, e := range append(slices.Clone(c.servers.list()), u.address) {
		host := e.host
		if !e.named() || found[host] != nil {
			continue
		}
		old := u.found[host]
		addrs, err := u.lookup(ctx, "ip", host)
		if err != nil || len(addrs) == 0 {
			found[host] = old // what was known may be right
			continue
		}
		slices.SortFunc(addrs, netip.Addr.Compare)
		found[host] = addrs
		if old != nil && !slices.Equal(old, addrs) {
			moved = true
			c.logger.Info("a server's name leads to other addresses", slog.String("host", host), slog.Any("addresses", addrs))
		}
	}
	u.found = found
	if idle, ok := c.transport.(interface{ CloseIdleConnections() }); ok && moved {
		idle.CloseIdleConnections()
	}
}
