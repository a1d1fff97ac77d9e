package grpclb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.uber.org/fx"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-go/rollcall/loadbalance"
)

// Module provides the *[Connections] over the graph's *loadbalance.LoadBalancer
// and closes them when the application stops. The value group
// "grpclb.dialoptions" holds the grpc.DialOption of all of them, such as
// credentials.
var Module = fx.Module("grpclb", fx.Provide(newFromParams))

// Params is what [Module] takes from the graph.
type Params struct {
	fx.In

	Lifecycle fx.Lifecycle
	Balancer  *loadbalance.LoadBalancer
	Options   []grpc.DialOption `group:"grpclb.dialoptions"`
}

func newFromParams(p Params) *Connections {
	c := NewConnections(p.Balancer, p.Options...)
	p.Lifecycle.Append(fx.Hook{OnStop: func(context.Context) error { return c.Close() }})
	return c
}

// Connections keeps one connection by name for each service, since one serves
// any number of clients. All methods are safe for concurrent use.
type Connections struct {
	balancer *loadbalance.LoadBalancer
	options  []grpc.DialOption

	mu     sync.Mutex
	closed bool
	open   map[string]*grpc.ClientConn
}

// NewConnections returns connections that are made with these options; see
// [NewClient].
func NewConnections(l *loadbalance.LoadBalancer, opts ...grpc.DialOption) *Connections {
	return &Connections{balancer: l, options: opts, open: map[string]*grpc.ClientConn{}}
}

// Get returns the connection to a service by its name, or by "GROUP@@name". It
// belongs to c and is not to be closed by the caller. After Close the error is
// [loadbalance.ErrClosed].
func (c *Connections) Get(service string) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, loadbalance.ErrClosed
	}
	if conn := c.open[service]; conn != nil {
		return conn, nil
	}
	conn, err := NewClient(c.balancer, service, slices.Clone(c.options)...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", service, err)
	}
	c.open[service] = conn
	return conn, nil
}

// Close closes all connections; calls under way fail. It is idempotent.
func (c *Connections) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var errs []error
	for service, conn := range c.open {
		// Whoever closed it before did what is done here.
		if err := conn.Close(); err != nil && status.Code(err) != codes.Canceled {
			errs = append(errs, fmt.Errorf("close the connection to %s: %w", service, err))
		}
	}
	clear(c.open)
	return errors.Join(errs...)
}
