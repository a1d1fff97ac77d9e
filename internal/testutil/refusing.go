package testutil

import (
	"net"
	"testing"
)

// Refusing returns an address at 127.0.0.1 that refuses connections until the test
// ends. The end of a connection holds its port meanwhile, so that nobody else comes
// to listen there, as on one that was only free a moment ago.
func Refusing(t testing.TB) *net.TCPAddr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	held, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	return held.LocalAddr().(*net.TCPAddr)
}
