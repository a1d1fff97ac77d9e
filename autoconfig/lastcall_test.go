package autoconfig

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
)

// A request that comes in the last moment is not tied to its connection, whose end
// is the server's doing. It ends with its handler all the same, and with the server.
func TestWebServer_ALateRequestEndsWithTheServer(t *testing.T) {
	for name, goes := range map[string]func(context.Context){
		"when its handler returns": func(context.Context) {},
		"when it is cut":           func(ctx context.Context) { <-ctx.Done() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := testutil.NewListener()
				p := DefaultServerProperties()
				p.LameDuck, p.ShutdownTimeout = 0, 5*time.Second
				late := make(chan context.Context, 1)
				w := NewWebServer(WebServerOptions{Properties: p, Listener: l, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					late <- r.Context()
					goes(r.Context())
				})})
				require.NoError(t, w.Start(t.Context()))
				conn, err := l.Dial(t.Context(), "tcp", "")
				require.NoError(t, err)
				defer func() { _ = conn.Close() }()
				synctest.Wait() // until it is accepted
				stopped := make(chan error, 1)
				go func() { stopped <- w.Stop(t.Context()) }()
				time.Sleep(503 * time.Millisecond) // of the second that it has for its first request
				require.True(t, w.goodbye.Load())
				_, err = fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: app\r\n\r\n")
				require.NoError(t, err)
				require.NoError(t, <-stopped)
				synctest.Wait()
				require.ErrorIs(t, (<-late).Err(), context.Canceled)
			})
		})
	}
}
