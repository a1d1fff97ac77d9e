package grpclb

import (
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/balancer"

	"github.com/rollcall-go/rollcall/registry"
)

// linkState is what pickers need to know of a connection.
type linkState int32

const (
	unused  linkState = iota // nobody wanted it yet
	pending                  // being connected
	ready
	failed // could not be connected, and is not yet
	shutDown
)

// linkKey says when a link can be kept: for the same instance at the same
// address, whatever else about it changes.
type linkKey struct {
	registry.Key
	address string
}

// link is the connection to one instance.
type link struct {
	key  linkKey
	conn balancer.SubConn
	// state is written by the policy and read by pickers.
	state atomic.Int32
	// wanted says that somebody asked for a connection. gRPC makes it again
	// when it was lost.
	wanted atomic.Bool
	// failure is why it failed last; nil until it did.
	failure atomic.Pointer[error]
}

func (l *link) is() linkState { return linkState(l.state.Load()) }

// demand has it connected; false when that was asked for before. It does not
// wait, and may be called by anyone.
func (l *link) demand() bool {
	if l.wanted.Load() || l.wanted.Swap(true) {
		return false
	}
	l.conn.Connect()
	return true
}

// addressOf returns where an instance serves gRPC.
func addressOf(i *registry.Instance) string {
	port, err := strconv.ParseUint(i.Metadata[MetadataPort], 10, 16)
	if err != nil || port == 0 {
		return i.Address()
	}
	return net.JoinHostPort(strings.Trim(i.IP, "[]"), strconv.FormatUint(port, 10))
}
