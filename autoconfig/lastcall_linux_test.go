package autoconfig

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// held is a listener whose connections are accepted, and read from, only while
// nothing holds them.
type held struct {
	net.Listener
	accept  chan struct{} // closed when connections are accepted
	refused chan struct{} // closed with the listener
	once    sync.Once
	conns   chan *heldConn
}

func holding(l net.Listener) *held {
	return &held{Listener: l, accept: make(chan struct{}), refused: make(chan struct{}), conns: make(chan *heldConn, 8)}
}

func (l *held) Accept() (net.Conn, error) {
	select {
	case <-l.accept:
	case <-l.refused:
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &heldConn{Conn: conn}
	l.conns <- c
	return c, nil
}

func (l *held) Close() error {
	l.once.Do(func() { close(l.refused) })
	return l.Listener.Close()
}

// heldConn can be told that reads are to wait until its end is asked for.
type heldConn struct {
	net.Conn
	mu   sync.Mutex
	gate chan struct{}
}

func (c *heldConn) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = make(chan struct{})
}

func (c *heldConn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gate != nil {
		close(c.gate)
		c.gate = nil
	}
}

// Read waits behind the read itself, as a goroutine does that has no processor.
func (c *heldConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return n, err
}

func (c *heldConn) CloseRead() error {
	defer c.release()
	return c.Conn.(*net.TCPConn).CloseRead()
}

func (c *heldConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// heldServer is one whose handler says whether the request's context ended.
func heldServer(t *testing.T) (*WebServer, *held) {
	p := DefaultServerProperties()
	p.Address, p.Port, p.ShutdownTimeout = "127.0.0.1", 0, time.Minute
	var listener *held
	w := NewWebServer(WebServerOptions{
		Properties: p,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
				w.WriteHeader(http.StatusTeapot)
			case <-time.After(50 * time.Millisecond):
			}
		}),
		Wrap: func(l net.Listener) net.Listener {
			listener = holding(l)
			return listener
		},
	})
	require.NoError(t, w.Start(t.Context()))
	return w, listener
}

func dialled(t *testing.T, w *WebServer) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", w.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn, bufio.NewReader(conn)
}

func request(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: app\r\n\r\n")
	require.NoError(t, err)
}

func answered(t *testing.T, from *bufio.Reader) (closes bool) {
	t.Helper()
	resp, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return resp.Close
}

// TestSB24_WhoWaitsToBeAcceptedIsAnswered: connections that the system has made
// and the server has not seen when it stops listening are not reset.
func TestSB24_WhoWaitsToBeAcceptedIsAnswered(t *testing.T) {
	w, listener := heldServer(t)
	var answers []*bufio.Reader
	for range 3 {
		conn, answer := dialled(t, w)
		request(t, conn)
		answers = append(answers, answer)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(t.Context()) }()
	require.Eventually(t, w.closing.Load, 10*time.Second, time.Millisecond)
	close(listener.accept)
	for _, answer := range answers {
		require.True(t, answered(t, answer))
	}
	require.NoError(t, <-stopped)
	_, err := net.Dial("tcp", w.Addr().String())
	require.Error(t, err)
}

// TestSB24_ARequestThatHasArrivedIsAnswered: a connection that was idle until just
// now, and has a request that the server has not looked at yet, is not idle.
func TestSB24_ARequestThatHasArrivedIsAnswered(t *testing.T) {
	w, listener := heldServer(t)
	close(listener.accept)
	conn, answer := dialled(t, w)
	request(t, conn)
	require.False(t, answered(t, answer))
	require.Eventually(t, func() (idle bool) {
		w.guests.each(func(g *guest) { idle = http.ConnState(g.state.Load()) == http.StateIdle })
		return idle
	}, 10*time.Second, time.Millisecond)
	server := <-listener.conns
	server.hold()
	request(t, conn)
	idle, idleAnswer := dialled(t, w)
	request(t, idle)
	require.False(t, answered(t, idleAnswer))

	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(t.Context()) }()
	require.True(t, answered(t, answer), "nor is its end taken for the client's")
	require.NoError(t, <-stopped)
	_, err := idleAnswer.ReadByte()
	require.EqualError(t, err, "EOF", "who has none hears that it is over")
}
