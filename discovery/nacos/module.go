package nacos

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
)

// Module provides the [Source] from [Options] to the value group
// "discovery.sources". Whoever takes the group, such as [discovery.Client],
// closes it; closing it once more when the application stops does no harm. A
// logger of the graph is used where the options have none.
var Module = fx.Module("discovery/nacos",
	fx.Provide(fx.Annotate(newFromParams, fx.As(new(discovery.Source)), fx.ResultTags(`group:"discovery.sources"`))),
)

// Params is what [Module] takes from the graph.
type Params struct {
	fx.In

	Lifecycle fx.Lifecycle
	Options   Options
	Logger    *slog.Logger `optional:"true"`
}

func newFromParams(p Params) (*Source, error) {
	if p.Options.Logger == nil {
		p.Options.Logger = p.Logger
	}
	s, err := NewSource(p.Options)
	if err != nil {
		return nil, err
	}
	p.Lifecycle.Append(fx.Hook{OnStop: func(context.Context) error { return s.Close() }})
	return s, nil
}
