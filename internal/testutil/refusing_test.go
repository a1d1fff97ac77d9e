package testutil_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
)

func TestRefusing_NobodyCanListenThere(t *testing.T) {
	at := testutil.Refusing(t).String()
	for range 3 {
		_, err := net.Dial("tcp", at)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		_, err = net.Listen("tcp", at)
		require.ErrorIs(t, err, syscall.EADDRINUSE)
	}
}
