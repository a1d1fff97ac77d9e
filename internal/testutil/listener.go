package testutil

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// Listener is a [net.Listener] whose connections are pairs of [net.Pipe]. It is
// safe for concurrent use. Like a real one, it leaves accepted connections open
// when it is closed.
type Listener struct {
	addr  *net.TCPAddr
	conns chan net.Conn
	done  chan struct{}
	close func()
	// dialled numbers the client ends, so that a log can tell them apart.
	dialled atomic.Int32
}

// NewListener returns a listener that calls itself 127.0.0.1:8848 and is dialled
// by [Listener.Dial] alone.
func NewListener() *Listener {
	return newListener(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8848})
}

func newListener(addr *net.TCPAddr) *Listener {
	done := make(chan struct{})
	return &Listener{
		addr:  addr,
		conns: make(chan net.Conn),
		done:  done,
		close: sync.OnceFunc(func() { close(done) }),
	}
}

// Accept waits for the next dialled connection; after Close it returns
// [net.ErrClosed].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, l.opError("accept", net.ErrClosed)
	default:
	}
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, l.opError("accept", net.ErrClosed)
	}
}

// Close stops Accept and refuses further dials. It is idempotent.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr returns the address the listener was given, a [*net.TCPAddr].
func (l *Listener) Addr() net.Addr { return l.addr }

// Dial connects to the listener whatever address is asked for; it has the form
// of [net/http.Transport.DialContext]. It waits until the connection is
// accepted, and fails as a refused connection does once the listener is closed.
func (l *Listener) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 32768 + int(l.dialled.Add(1))%28000}
	refused := func(err error) (net.Conn, error) {
		_, _ = client.Close(), server.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: l.addr, Err: err}
	}
	select {
	case <-l.done:
		return refused(syscall.ECONNREFUSED)
	default:
	}
	select {
	case l.conns <- addressedConn{server, l.addr, from}:
		return addressedConn{client, from, l.addr}, nil
	case <-l.done:
		return refused(syscall.ECONNREFUSED)
	case <-ctx.Done():
		return refused(ctx.Err())
	}
}

func (l *Listener) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: l.addr, Err: err}
}

// addressedConn gives an end of a pipe the addresses of a TCP connection, which
// servers parse.
type addressedConn struct {
	net.Conn
	local, remote net.Addr
}

func (c addressedConn) LocalAddr() net.Addr  { return c.local }
func (c addressedConn) RemoteAddr() net.Addr { return c.remote }

// Network is a set of in-memory listeners by address, for tests with several
// servers. The zero value is an empty network; it is safe for concurrent use.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*Listener
}

// Listen opens a listener at an address such as "192.0.2.1:8848". An address
// whose earlier listener is closed can be used again.
func (n *Network) Listen(addr string) (*Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w", addr, err)
	}
	l := newListener(tcp)
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.listeners[addr]; old != nil {
		select {
		case <-old.done:
		default:
			return nil, l.opError("listen", syscall.EADDRINUSE)
		}
	}
	if n.listeners == nil {
		n.listeners = make(map[string]*Listener)
	}
	n.listeners[addr] = l
	return l, nil
}

// Dial connects to the listener at addr; it has the form of
// [net/http.Transport.DialContext]. Where nobody listens the connection is
// refused.
func (n *Network) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: %w", addr, syscall.ECONNREFUSED)}
	}
	return l.Dial(ctx, network, addr)
}
