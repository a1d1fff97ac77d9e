package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/autoconfig"
)

// TestSB19_NoAnswerRunsInABrowser asks a server, over its socket, for everything
// that it does not answer by a route: other paths, methods and protocols, requests
// that are too large or no requests at all, and the actuator. None of the answers
// is HTML or repeats markup unless it is marked as JSON, and whatever gets as far
// as a handler forbids to guess its type.
func TestSB19_NoAnswerRunsInABrowser(t *testing.T) {
	r := start(t, autoconfig.Property("nacos.core.auth.enabled", true), autoconfig.Property("server.context-path", "/nacos"),
		autoconfig.Property("management.endpoints.exposure", "health,prometheus"))
	const script = `"><script>alert(1)</script>`
	const host = "Host: x\r\nConnection: close\r\nAccept: text/html\r\n"
	for request, want := range map[string]struct {
		status  int
		parsing bool // net/http refuses it before any handler sees it
	}{
		"GET /" + script + " HTTP/1.1\r\n" + host:                                                                                      {status: 404},
		"GET / HTTP/1.1\r\n" + host:                                                                                                    {status: 404},
		"GET /nacos HTTP/1.1\r\n" + host:                                                                                               {status: 404},
		"GET /nacos/" + script + " HTTP/1.1\r\n" + host:                                                                                {status: 404},
		"GET /nacos/v1/ns/" + script + " HTTP/1.1\r\n" + host:                                                                          {status: 501},
		"GET /nacos/v1/auth/users?x=" + script + " HTTP/1.1\r\n" + host:                                                                {status: 403},
		"GET http://" + "a" + "/nacos/v1/ns/" + script + " HTTP/1.1\r\n" + host:                                                        {status: 501},
		"TRACE /nacos/v1/ns/instance HTTP/1.1\r\nX: " + script + "\r\n" + host:                                                         {status: 501},
		"CONNECT x:1 HTTP/1.1\r\n" + host:                                                                                              {status: 404},
		"POST /nacos/v1/auth/login?username=" + script + "&password=x HTTP/1.1\r\nContent-Length: 0\r\n" + host:                        {status: 403},
		"POST /nacos/v1/ns/instance HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9999999\r\n" + host: {status: 413},
		"POST /nacos/actuator/health HTTP/1.1\r\nContent-Length: 0\r\n" + host:                                                         {status: 404},
		"GET /nacos/actuator/health HTTP/1.1\r\n" + host:                                                                               {status: 200},
		"GET /nacos/actuator/prometheus HTTP/1.1\r\n" + host:                                                                           {status: 200},
		"GET /nacos/actuator/" + script + " HTTP/1.1\r\n" + host:                                                                       {status: 404},
		"<script> /nacos HTTP/1.1\r\n" + host:                                                                                          {status: 400, parsing: true},
		"GET /nacos/%zz HTTP/1.1\r\n" + host:                                                                                           {status: 400, parsing: true},
		"GET /nacos HTTP/1.1\r\nHost: <script>\r\n":                                                                                    {status: 400, parsing: true},
		"GET /nacos HTTP/3.0\r\n" + host:                                                                                               {status: 505, parsing: true},
		"POST /nacos HTTP/1.1\r\nTransfer-Encoding: <script>\r\n" + host:                                                               {status: 501, parsing: true},
		"POST /nacos HTTP/1.1\r\nExpect: <script>\r\nContent-Length: 0\r\n" + host:                                                     {status: 417, parsing: true},
		"GET /nacos HTTP/1.1\r\nX: " + strings.Repeat("x", 80_000) + "\r\n" + host:                                                     {status: 431, parsing: true},
	} {
		name := fmt.Sprintf("%.70q", request)
		conn, err := net.Dial("tcp", r.app.Addr().String())
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		text := request + "\r\n"
		// More than the server reads of a header would reset the connection, and with
		// it the answer: 64 KiB and what net/http allows beyond.
		_, err = io.WriteString(conn, text[:min(len(text), 64<<10+4096)])
		require.NoError(t, err, name)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, name)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err, name)
		require.NoError(t, resp.Body.Close())
		require.NoError(t, conn.Close())

		require.Equal(t, want.status, resp.StatusCode, "%s: %s", name, body)
		contentType := resp.Header.Get("Content-Type")
		require.NotContains(t, contentType, "html", name)
		require.NotContains(t, resp.Status, "<script", name)
		if len(body) > 0 {
			require.NotEmpty(t, contentType, name)
		}
		if !strings.HasPrefix(contentType, "application/json") {
			require.NotContains(t, string(body), "<script", name)
		}
		if want.parsing && len(body) > 0 {
			require.Equal(t, "text/plain; charset=utf-8", contentType, name)
			require.NotContains(t, string(body), "script", name)
		} else if !want.parsing {
			require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"), name)
		}
	}
}
