package discovery

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/registry"
)

// Module provides the *Client over all sources of the value group
// "discovery.sources" and closes it when the application stops. [Options] may be
// supplied; unless their Order says otherwise, their own Sources come first and
// then those of the group by name.
var Module = fx.Module("discovery", fx.Provide(newFromParams))

// Params is what [Module] takes from the graph.
type Params struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Options    Options               `optional:"true"`
	Sources    []Source              `group:"discovery.sources"`
	Logger     *slog.Logger          `optional:"true"`
	Publisher  registry.Publisher    `optional:"true"`
	Registerer prometheus.Registerer `optional:"true"`
}

func newFromParams(p Params) (*Client, error) {
	o := p.Options
	// The members of a group come in random order.
	slices.SortFunc(p.Sources, func(a, b Source) int { return cmp.Compare(a.Name(), b.Name()) })
	o.Sources = slices.Concat(o.Sources, p.Sources)
	if o.Logger == nil {
		o.Logger = p.Logger
	}
	if o.Publisher == nil {
		o.Publisher = p.Publisher
	}
	if o.Registerer == nil {
		o.Registerer = p.Registerer
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	p.Lifecycle.Append(fx.Hook{OnStop: func(context.Context) error { return c.Close() }})
	return c, nil
}
