package testserver

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// gate passes TCP connections on to a server. While it is shut it is as a network
// that was cut: connections are made and stay, and what is sent over them is lost,
// in both directions. A connection that lost something ends when the gate opens.
type gate struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex
	shut  bool
	ended bool
	conns map[net.Conn]bool // open ones, and whether they lost something
}

// newGate opens a gate on a port of 127.0.0.1. It ends with the test.
func newGate(t testing.TB, target string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("open the gate: %v", err)
	}
	g := &gate{listener: listener, target: target, conns: make(map[net.Conn]bool)}
	g.running.Go(g.accept)
	t.Cleanup(func() {
		listener.Close()
		g.mu.Lock()
		g.ended = true
		g.mu.Unlock()
		g.closeAll(func(bool) bool { return true })
		g.running.Wait()
	})
	return g
}

func (g *gate) accept() {
	for {
		conn, err := g.listener.Accept()
		if err != nil {
			return // closed
		}
		g.track(conn)
		g.running.Go(func() { g.serve(conn) })
	}
}

// serve passes one connection on until either side closes it.
func (g *gate) serve(client net.Conn) {
	defer g.forget(client)
	if g.loses(client) {
		_, _ = io.Copy(io.Discard, client) // until somebody gives up
		return
	}
	server, err := net.Dial("tcp", g.target)
	if err != nil {
		return // the client sees a connection that ends, as of a server that is down
	}
	g.track(server)
	defer g.forget(server)
	var back sync.WaitGroup
	back.Go(func() {
		g.pass(client, server)
		client.Close()
	})
	g.pass(server, client)
	server.Close()
	back.Wait()
}

// pass copies what comes from one side to the other.
func (g *gate) pass(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if g.loses(from) {
			if err == nil {
				_, _ = io.Copy(io.Discard, from)
			}
			return
		}
		if _, failed := to.Write(buffer[:n]); errors.Join(err, failed) != nil {
			return
		}
	}
}

// loses says whether what comes over the connection is lost, which is noted.
func (g *gate) loses(conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		g.conns[conn] = true
	}
	return g.shut
}

func (g *gate) track(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns[conn] = false
	if g.ended { // meanwhile, and closeAll did not see this one
		conn.Close()
	}
}

func (g *gate) forget(conn net.Conn) {
	conn.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, conn)
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	g.shut = shut
	g.mu.Unlock()
	if !shut {
		g.closeAll(func(lost bool) bool { return lost })
	}
}

// closeAll closes the connections chosen by whether they lost something.
func (g *gate) closeAll(chosen func(lost bool) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for conn, lost := range g.conns {
		if chosen(lost) {
			conn.Close()
		}
	}
}
