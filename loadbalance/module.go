package loadbalance

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
)

// Module provides the *LoadBalancer over the graph's *discovery.Client and the
// *HTTPClient that calls through it, and closes both when the application stops.
// [Options], [TransportOptions] and [BaseTransportOptions] may be supplied; a
// [Policy] in the graph is used when Options names none.
var Module = fx.Module("loadbalance", fx.Provide(newFromParams, newClientFromParams))

// Params is what [Module] takes from the graph for the balancer.
type Params struct {
	fx.In

	Lifecycle fx.Lifecycle
	Discovery *discovery.Client
	Options   Options      `optional:"true"`
	Policy    Policy       `optional:"true"`
	Logger    *slog.Logger `optional:"true"`
}

func newFromParams(p Params) (*LoadBalancer, error) {
	o := p.Options
	if o.Discovery == nil {
		o.Discovery = p.Discovery
	}
	if o.Policy == nil {
		o.Policy = p.Policy
	}
	if o.Logger == nil {
		o.Logger = p.Logger
	}
	l, err := New(o)
	if err != nil {
		return nil, err
	}
	p.Lifecycle.Append(fx.Hook{OnStop: func(context.Context) error { return l.Close() }})
	return l, nil
}

// ClientParams is what [Module] takes from the graph for the client.
type ClientParams struct {
	fx.In

	Lifecycle fx.Lifecycle
	Balancer  *LoadBalancer
	Transport TransportOptions     `optional:"true"`
	Base      BaseTransportOptions `optional:"true"`
}

func newClientFromParams(p ClientParams) *HTTPClient {
	c := NewHTTPClient(NewTransport(p.Balancer, NewBaseTransport(p.Base), p.Transport))
	p.Lifecycle.Append(fx.Hook{OnStop: func(context.Context) error {
		c.CloseIdleConnections()
		return nil
	}})
	return c
}
