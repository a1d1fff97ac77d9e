package gateway

import (
	"log/slog"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/loadbalance"
)

// Module provides the *[Gateway] over the graph's *loadbalance.HTTPClient. The
// application supplies the [Properties] and says where the gateway is mounted:
//
//	fx.Invoke(func(e *gin.Engine, g *gateway.Gateway) { e.NoRoute(g.Handle) })
var Module = fx.Module("gateway", fx.Provide(newFromParams))

// Params is what [Module] takes from the graph.
type Params struct {
	fx.In

	Client     *loadbalance.HTTPClient
	Properties Properties
	Logger     *slog.Logger `optional:"true"`
}

func newFromParams(p Params) (*Gateway, error) {
	return New(Options{Properties: p.Properties, Transport: p.Client.Transport, Logger: p.Logger})
}
