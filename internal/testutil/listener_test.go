package testutil_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/testutil"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestListener_CarriesHTTPInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testutil.NewListener()
		testutil.Serve(t, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, r.Host+" "+r.RemoteAddr[:10])
		}))
		client := &http.Client{Transport: testutil.Transport(t, l.Dial)}
		began := time.Now()
		resp, err := client.Get("http://registry.example/x")
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "registry.example 127.0.0.1:", string(body))
		require.Equal(t, time.Hour, time.Since(began))
	})
}

func TestListener_RefusesOnceClosed(t *testing.T) {
	l := testutil.NewListener()
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err := l.Dial(t.Context(), "tcp", "")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestListener_DialHonoursTheContext(t *testing.T) {
	l := testutil.NewListener()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Dial(ctx, "tcp", "")
	require.ErrorIs(t, err, context.Canceled)
}

func TestNetwork(t *testing.T) {
	var n testutil.Network
	_, err := n.Dial(t.Context(), "tcp", "192.0.2.1:1")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)

	a, err := n.Listen("192.0.2.1:1")
	require.NoError(t, err)
	_, err = n.Listen("192.0.2.1:1")
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	accepted := make(chan error, 1)
	go func() {
		c, err := a.Accept()
		if err == nil {
			err = errors.Join(c.Close())
		}
		accepted <- err
	}()
	c, err := n.Dial(t.Context(), "tcp", "192.0.2.1:1")
	require.NoError(t, err)
	require.NoError(t, <-accepted)
	require.Equal(t, "192.0.2.1:1", c.RemoteAddr().String())
	require.NoError(t, c.Close())

	require.NoError(t, a.Close())
	_, err = n.Listen("192.0.2.1:1")
	require.NoError(t, err, "a closed address is free again")
}
