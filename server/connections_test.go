package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
)

func refusedConnections(t *testing.T, metrics *prometheus.Registry) (n float64) {
	t.Helper()
	families, err := metrics.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "rollcall_refused_connections_total" {
			n = f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return n
}

func TestSB21_ConnectionsOfOneAddressAreBounded(t *testing.T) {
	var metrics *prometheus.Registry
	r := start(t, fx.Populate(&metrics), autoconfig.Property("nacos.connections.per-address", 3))
	address := strings.TrimPrefix(r.base, "http://")
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(soon)))
		return conn
	}
	try := func(conn net.Conn) (string, error) {
		if _, err := fmt.Fprint(conn, "GET /nacos/v1/console/health/liveness HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return "", err
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return "", err
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(text)), err
	}
	ask := func(conn net.Conn) string {
		t.Helper()
		answer, err := try(conn)
		require.NoError(t, err)
		return answer
	}
	held := []net.Conn{dial(), dial(), dial()}
	_, err := fmt.Fprint(held[0], "GET /nacos/v1/ns/inst") // half a request counts as well
	require.NoError(t, err)
	require.Equal(t, "200 OK", ask(held[1]))
	for range 5 {
		require.Equal(t, "503 too many connections from this address, 3 are allowed", ask(dial()))
	}
	require.Equal(t, 5.0, refusedConnections(t, metrics))
	require.Eventually(t, func() bool { return strings.Contains(r.log.String(), "connections are refused") },
		soon, time.Millisecond)

	require.Equal(t, "200 OK", ask(held[1]), "who is in stays in")
	require.NoError(t, held[0].Close())
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		answer, err := try(conn)
		return err == nil && answer == "200 OK"
	}, soon, 10*time.Millisecond, "a place that was given back is free")
}

func TestSB21_ConnectionsToTheManagementServerAreBounded(t *testing.T) {
	r := start(t, autoconfig.Property("nacos.connections.per-address", 1),
		autoconfig.Property("management.server.port", 0), autoconfig.Property("management.server.address", "127.0.0.1"))
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", r.app.ManagementAddr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(soon)))
		_, err = fmt.Fprint(conn, "GET /actuator/health/liveness HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		return conn
	}
	status := func(conn net.Conn) int {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, 200, status(dial()))
	require.Equal(t, 503, status(dial()))
}

func TestSB21_NoBoundWhenItIsZero(t *testing.T) {
	r := start(t, autoconfig.Property("nacos.connections.per-address", 0))
	for range 50 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
	}
	status, _ := r.do("GET", "/nacos/v1/console/health/liveness", nil)
	require.Equal(t, 200, status)
}

// TestSB24_ACountedConnectionEndsByHalves: the web server ends the input of those
// that are idle when it stops, and the output of those whose body it does not read.
func TestSB24_ACountedConnectionEndsByHalves(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	require.NoError(t, client.SetDeadline(time.Now().Add(time.Minute)))
	accepted, err := l.Accept()
	require.NoError(t, err)
	counted := &countedConn{Conn: accepted, release: func() {}}
	defer func() { _ = counted.Close() }()
	require.NoError(t, counted.SetDeadline(time.Now().Add(time.Minute)))

	require.NoError(t, counted.CloseRead())
	_, err = counted.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	_, err = counted.Write([]byte("answer"))
	require.NoError(t, err)
	require.NoError(t, counted.CloseWrite())
	text, err := io.ReadAll(client)
	require.NoError(t, err)
	require.Equal(t, "answer", string(text))

	pipe, _ := net.Pipe()
	whole := &countedConn{Conn: pipe, release: func() {}}
	require.ErrorIs(t, whole.CloseRead(), errors.ErrUnsupported)
	require.ErrorIs(t, whole.CloseWrite(), errors.ErrUnsupported)
}
