package httpserver

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
)

// serve runs a server until the test ends and returns a connection to it.
func serve(t *testing.T, h http.Handler, logger *slog.Logger) net.Conn {
	t.Helper()
	l, server := testutil.NewListener(), New(h, logger)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := l.Dial(t.Context(), "tcp", "")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Hour)))
	return conn
}

func TestSB21_NoRequestHoldsAConnectionForEver(t *testing.T) {
	bounded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { BoundTime(w, r) })
	for name, request := range map[string]string{
		"half a request line":           "GET /nac",
		"half a header":                 "GET / HTTP/1.1\r\nHost: x\r\nX-A: b",
		"nothing":                       "",
		"an unknown expectation":        "POST / HTTP/1.1\r\nHost: x\r\nExpect: more\r\nContent-Length: 10\r\n\r\n",
		"an expectation, and no body":   "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n",
		"options of the server":         "OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"a body that nobody reads":      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"a body in chunks":              "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
		"a connection that is kept":     "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"a body after one that is kept": "GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := serve(t, bounded, nil)
				began := time.Now()
				_, err := io.WriteString(conn, request)
				require.NoError(t, err)
				_, err = io.ReadAll(conn)
				require.NoError(t, err, "the server has closed the connection")
				require.LessOrEqual(t, time.Since(began), idleTimeout+HeaderTimeout)
			})
		})
	}
}

func TestServer_AHandlerThatWaitsIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * HeaderTimeout)
			body, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, "%s %v %v", body, err, r.Context().Err())
		}), nil)
		_, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\n")
		require.NoError(t, err)
		time.Sleep(2 * HeaderTimeout)
		_, err = io.WriteString(conn, "0123456789")
		require.NoError(t, err)
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(string(answer), "0123456789 <nil> <nil>"), "%s", answer)
	})
}

func TestSB23_ErrorsOfConnectionsAreSummarised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &testutil.Output{}
		server := New(http.NotFoundHandler(), slog.New(slog.NewTextHandler(log, nil)))
		for i := range 10_000 {
			server.ErrorLog.Printf("http: TLS handshake error from 192.0.2.1:%d: EOF", i)
		}
		server.ErrorLog.Printf("http: panic serving 192.0.2.1:1: oh\ngoroutine 1:\n%s", strings.Repeat("x", 100_000))
		require.NoError(t, server.Close())
		lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
		require.Len(t, lines, errorBurst+2)
		require.Contains(t, lines[0], `level=WARN msg="a TLS handshake failed" error="http: TLS handshake error from 192.0.2.1:0: EOF"`)
		require.Contains(t, lines[errorBurst], `level=ERROR msg="a handler panicked"`)
		require.Less(t, len(lines[errorBurst]), 2*maxErrorText)
		require.Contains(t, lines[errorBurst+1], `from 192.0.2.1:9999: EOF" muted=9994`)
	})
}

func TestServer_TellsAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &testutil.Output{}
		conn := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(errors.New("oh")) }),
			slog.New(slog.NewTextHandler(log, nil)))
		_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		_, err = io.ReadAll(conn)
		require.NoError(t, err)
		require.Contains(t, log.String(), `msg="a handler panicked" error="http: panic serving`)
	})
}
