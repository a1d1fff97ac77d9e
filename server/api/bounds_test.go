package api

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/httpserver"
	"github.com/rollcall-go/rollcall/internal/testutil"
)

func TestSB21_SlowClientsAreCutOff(t *testing.T) {
	dial := func(t *testing.T) net.Conn {
		l := testutil.NewListener()
		testutil.Serve(t, l, newFixture(t).engine)
		conn, err := l.Dial(t.Context(), "tcp", "")
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	t.Run("a body that never comes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			conn := dial(t)
			began := time.Now()
			_, err := fmt.Fprint(conn, "POST /v1/ns/instance HTTP/1.1\r\nHost: x\r\n"+
				"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nserviceName=")
			require.NoError(t, err)
			answer, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 400 "), "%s", answer)
			require.GreaterOrEqual(t, time.Since(began), httpserver.BodyTimeout)
			require.Less(t, time.Since(began), 2*httpserver.BodyTimeout)
		})
	})
	for name, request := range map[string]string{
		"that nobody wants":          "GET /v1/console/health/liveness HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"to no route":                "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"in chunks":                  "GET /v1/console/health/liveness HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"of a type that is not read": "POST /v1/ns/instance HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
		"that is a document":         "POST /v1/core/cluster/report HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
	} {
		t.Run("a body that never comes, "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := dial(t)
				require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Hour)))
				began := time.Now()
				_, err := fmt.Fprint(conn, request)
				require.NoError(t, err)
				answer, err := io.ReadAll(conn)
				require.NoError(t, err, "the server has closed the connection")
				require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 "), "%s", answer)
				require.Less(t, time.Since(began), 2*httpserver.BodyTimeout)
			})
		})
	}
	t.Run("an answer that is never read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			conn := dial(t)
			_, err := fmt.Fprint(conn, "GET /v1/ns/operator/switches HTTP/1.1\r\nHost: x\r\n\r\n")
			require.NoError(t, err)
			time.Sleep(httpserver.AnswerTimeout + time.Second)
			answer, err := io.ReadAll(conn)
			require.NoError(t, err, "the server has closed the connection")
			require.Empty(t, answer)
		})
	})
	t.Run("an idle connection may pause between requests", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			conn := dial(t)
			for range 3 {
				_, err := fmt.Fprint(conn, "GET /v1/console/health/liveness HTTP/1.1\r\nHost: x\r\n\r\n")
				require.NoError(t, err)
				buf := make([]byte, 4096)
				n, err := conn.Read(buf)
				require.NoError(t, err)
				require.True(t, strings.HasPrefix(string(buf[:n]), "HTTP/1.1 200 "))
				time.Sleep(2 * httpserver.AnswerTimeout)
			}
		})
	})
}
