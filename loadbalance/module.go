package loadbalance

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
)

// Module provides the *LoadBalancer over the graph's *discovery.Client and the
// *HTTPClient that calls through it, loads eagerly what is to be when the
// application starts, and closes both when it stops. [Options], [Properties],
// [TransportOptions] and [BaseTransportOptions] may be supplied; a [Policy] in the
// graph is used when Options names none, and the value groups
// "loadbalance.lifecycles" and "loadbalance.transformers" are added to theirs.
var Module = fx.Module("loadbalance", fx.Provide(newFromParams, newClientFromParams))

// Params is what [Module] takes from the graph for the balancer.
type Params struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Discovery  *discovery.Client
	Options    Options               `optional:"true"`
	Properties *Properties           `optional:"true"`
	Policy     Policy                `optional:"true"`
	Lifecycles []Lifecycle           `group:"loadbalance.lifecycles"`
	Registerer prometheus.Registerer `optional:"true"`
	Logger     *slog.Logger          `optional:"true"`
}

func newFromParams(p Params) (*LoadBalancer, error) {
	o := p.Options
	if o.Discovery == nil {
		o.Discovery = p.Discovery
	}
	if o.Policy == nil {
		o.Policy = p.Policy
	}
	if o.Properties == nil {
		o.Properties = p.Properties
	}
	if o.Registerer == nil {
		o.Registerer = p.Registerer
	}
	if o.Logger == nil {
		o.Logger = p.Logger
	}
	o.Lifecycles = append(slices.Clone(o.Lifecycles), p.Lifecycles...)
	l, err := New(o)
	if err != nil {
		return nil, err
	}
	p.Lifecycle.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			l.EagerLoad(ctx)
			return nil
		},
		OnStop: func(context.Context) error { return l.Close() },
	})
	return l, nil
}

// ClientParams is what [Module] takes from the graph for the client.
type ClientParams struct {
	fx.In

	Lifecycle fx.Lifecycle
	Balancer  *LoadBalancer
	Transport TransportOptions     `optional:"true"`
	Base      BaseTransportOptions `optional:"true"`
	// Transformers are added to those of Transport.
	Transformers []Transformer `group:"loadbalance.transformers"`
}

func newClientFromParams(p ClientParams) *HTTPClient {
	o := p.Transport
	o.Transformers = append(slices.Clone(o.Transformers), p.Transformers...)
	var base http.RoundTripper // nil: by the properties of each service
	if !p.Balancer.configured.Load() {
		base = NewBaseTransport(p.Base)
	}
	c := NewHTTPClient(NewTransport(p.Balancer, base, o))
	p.Lifecycle.Append(fx.Hook{OnStop: func(context.Context) error {
		c.CloseIdleConnections()
		return nil
	}})
	return c
}
