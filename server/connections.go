package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/autoconfig"
)

const (
	// refusalTime bounds how long a refused connection stays to hear why.
	refusalTime = time.Second
	// maxRefusals is how many hear why at the same time; the others are closed.
	maxRefusals = 64
)

// limitConnections bounds the connections of each client address, so that one
// client that leaks or hoards them does not take those of the others (SB-21).
func limitConnections(p Properties, logger *slog.Logger, registerer prometheus.Registerer) (autoconfig.WrapListener, error) {
	refused := prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "rollcall", Name: "refused_connections_total",
		Help: "Connections refused because their address had too many. Alarm when it grows.",
	})
	if err := registerer.Register(refused); err != nil {
		return nil, err
	}
	limit := p.Connections.PerAddress
	return func(l net.Listener) net.Listener {
		if limit == 0 {
			return l
		}
		closing, cancel := context.WithCancel(context.Background())
		return &limitedListener{
			Listener: l, limit: limit, refused: refused, logger: logger, closing: closing, cancel: cancel,
			open: make(map[netip.Addr]int), refusing: make(chan struct{}, maxRefusals),
		}
	}, nil
}

// limitedListener accepts so many connections of each address.
type limitedListener struct {
	net.Listener
	limit   int
	refused prometheus.Counter
	logger  *slog.Logger

	mu   sync.Mutex
	open map[netip.Addr]int

	closing  context.Context // ends the refusals
	cancel   context.CancelFunc
	refusing chan struct{} // a place for each refusal under way
	refusals sync.WaitGroup
}

// Accept returns the next connection that is within the limit.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, known := addressOf(conn)
		if !known {
			return conn, nil
		}
		if l.take(from) {
			return &countedConn{Conn: conn, release: sync.OnceFunc(func() { l.release(from) })}, nil
		}
		l.refuse(conn, from)
	}
}

func (l *limitedListener) take(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[from] >= l.limit {
		return false
	}
	l.open[from]++
	return true
}

func (l *limitedListener) release(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[from]--; l.open[from] == 0 {
		delete(l.open, from)
	}
}

// Close ends accepting and the refusals under way.
func (l *limitedListener) Close() error {
	err := l.Listener.Close()
	l.cancel()
	l.refusals.Wait()
	return err
}

func (l *limitedListener) refuse(conn net.Conn, from netip.Addr) {
	l.refused.Inc()
	l.logger.Warn("connections are refused: one address has as many as it may (nacos.connections.per-address)",
		slog.String("address", from.String()), slog.Int("limit", l.limit))
	select {
	case l.refusing <- struct{}{}:
	default:
		_ = conn.Close()
		return
	}
	l.refusals.Go(func() {
		l.explain(conn)
		<-l.refusing
	})
}

// explain says why, and waits until the client has sent its request or gone:
// closing earlier would reset the connection and take the answer with it.
func (l *limitedListener) explain(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(l.closing, func() { _ = conn.Close() })()
	if conn.SetDeadline(time.Now().Add(refusalTime)) != nil {
		return
	}
	text := fmt.Sprintf("too many connections from this address, %d are allowed", l.limit)
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain;charset=UTF-8\r\n"+
		"X-Content-Type-Options: nosniff\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		var rest [1 << 10]byte
		for {
			if _, err := conn.Read(rest[:]); err != nil {
				return
			}
		}
	}
}

// countedConn gives its place back when it is closed.
type countedConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseRead ends the input behind what has arrived.
func (c *countedConn) CloseRead() error {
	if half, ok := c.Conn.(interface{ CloseRead() error }); ok {
		return half.CloseRead()
	}
	return errors.ErrUnsupported
}

// CloseWrite ends the output, so that net/http can let a client read an answer to
// a request that was not read to its end.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// addressOf is the client's address; not known for what is no TCP connection.
func addressOf(conn net.Conn) (netip.Addr, bool) {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	return tcp.AddrPort().Addr().Unmap().WithZone(""), true
}
