package testutil

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// Serve answers l's connections with h until the test ends, and joins the
// server then. Inside a synctest bubble t is the bubble's own.
func Serve(t testing.TB, l net.Listener, h http.Handler) {
	t.Helper()
	server := &http.Server{
		Handler:  h,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
}

// Transport returns a transport that makes its connections with dial, such as
// [Listener.Dial], and closes the idle ones when the test ends.
func Transport(t testing.TB, dial DialFunc) *http.Transport {
	t.Helper()
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// DialFunc is the type of [net/http.Transport.DialContext].
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)
