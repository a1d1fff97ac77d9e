package nacos

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/registry"
)

// Module provides the *[Registry], also as [registry.ServiceRegistry], from
// [Options], and closes it when the application stops. A logger of the graph is
// used where the options have none.
var Module = fx.Module("registry/nacos",
	fx.Provide(fx.Annotate(newFromParams, fx.As(fx.Self()), fx.As(new(registry.ServiceRegistry)))),
)

// Params is what [Module] takes from the graph.
type Params struct {
	fx.In

	Lifecycle fx.Lifecycle
	Options   Options
	Logger    *slog.Logger `optional:"true"`
}

func newFromParams(p Params) (*Registry, error) {
	if p.Options.Logger == nil {
		p.Options.Logger = p.Logger
	}
	r, err := New(p.Options)
	if err != nil {
		return nil, err
	}
	p.Lifecycle.Append(fx.Hook{OnStop: func(context.Context) error { return r.Close() }})
	return r, nil
}
