package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/loadbalance"
)

func TestGatewayStreams(t *testing.T) {
	next := make(chan struct{})
	left := make(chan struct{})
	b := backend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: one\n\n")
		w.(http.Flusher).Flush()
		<-next
		fmt.Fprint(w, "data: two\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	})
	s := withGin(t, only("orders"), at("orders", b.Listener.Addr().String()))
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/orders/events", nil)
	require.NoError(t, err)
	resp, err := s.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	events := bufio.NewReader(resp.Body)
	line, err := events.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "data: one\n", line, "comes before there is another")
	close(next)
	_, err = events.ReadString('\n')
	require.NoError(t, err)
	line, err = events.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "data: two\n", line)
	leave()
	select {
	case <-left:
	case <-time.After(time.Minute):
		t.Fatal("the call goes on although its caller has left")
	}
}

func TestGatewayAnswerThatBreaksOffIsNotTakenForWhole(t *testing.T) {
	b := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	instance := at("orders", b.Listener.Addr().String())
	for name, s := range map[string]*site{
		"gin":      withGin(t, only("orders"), instance),
		"net/http": open(t, only("orders"), loadbalance.DefaultProperties(), nil, instance),
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/orders/x", nil)
			require.NoError(t, err)
			resp, err := s.Client().Do(req)
			if err != nil {
				return // it broke before there was anything
			}
			defer resp.Body.Close()
			_, err = io.ReadAll(resp.Body)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		})
	}
}

func TestGatewayCarriesSwitchedProtocols(t *testing.T) {
	ended := make(chan struct{}) // no server waits for a connection that was taken over
	b := backend(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Connection") != "Upgrade" {
			http.Error(w, "no upgrade", http.StatusBadRequest)
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = rw.Flush()
		for {
			line, err := rw.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprint(rw, strings.ToUpper(line))
			_ = rw.Flush()
		}
	})
	s := withGin(t, only("orders"), at("orders", b.Listener.Addr().String()))
	conn, in := switched(t, s, ended, "GET /orders/chat HTTP/1.1\r\nHost: shop\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n")
	for _, word := range []string{"one\n", "two\n"} {
		fmt.Fprint(conn, word)
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, strings.ToUpper(word), line)
	}
}

// A caller that has said all it has to say still gets the answer, also where calls
// under way are counted.
func TestGatewayCarriesTheEndOfOneDirection(t *testing.T) {
	ended := make(chan struct{}) // no server waits for a connection that was taken over
	b := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tunnel\r\n\r\n")
		_ = rw.Flush()
		said, err := io.ReadAll(rw)
		fmt.Fprintf(rw, "%s %v", strings.ToUpper(string(said)), err)
		_ = rw.Flush()
	})
	counting := loadbalance.DefaultProperties()
	counting.Algorithm = loadbalance.PolicyLeastActive
	s := open(t, only("orders"), counting, nil, at("orders", b.Listener.Addr().String()))
	conn, in := switched(t, s, ended, "GET /orders/tunnel HTTP/1.1\r\nHost: shop\r\nConnection: Upgrade\r\nUpgrade: tunnel\r\n\r\n")
	fmt.Fprint(conn, "all")
	require.NoError(t, conn.CloseWrite())
	answer, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, "ALL <nil>", string(answer))
}

// switched asks a gateway for another protocol and returns the connection that was
// taken over for it, with what comes back on it. The test ends when it has, and the
// backend's handler with it.
func switched(t *testing.T, s *site, ended <-chan struct{}, request string) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	fmt.Fprint(conn, request)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	return conn.(*net.TCPConn), in
}
