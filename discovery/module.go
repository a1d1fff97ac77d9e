package discovery

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
)

// Module provides the *Client over all sources of the value group
// "discovery.sources" and closes it when the application stops. Options are
// optional; their Sources, if any, come before those of the group.
var Module = fx.Module("discovery", fx.Provide(newFromParams))

// Params is what [Module] takes from the graph.
type Params struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Options    Options               `optional:"true"`
	Sources    []Source              `group:"discovery.sources"`
	Logger     *slog.Logger          `optional:"true"`
	Registerer prometheus.Registerer `optional:"true"`
}

func newFromParams(p Params) (*Client, error) {
	o := p.Options
	o.Sources = append(slices.Clip(o.Sources), inOrder(p.Sources, o.Order)...)
	if o.Logger == nil {
		o.Logger = p.Logger
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

// inOrder sorts the members of a group: first those that order names, in its
// order, then the others by name.
func inOrder(sources []Source, order []string) []Source {
	rank := func(s Source) int {
		if i := slices.Index(order, s.Name()); i >= 0 {
			return i
		}
		return len(order)
	}
	sources = slices.Clone(sources)
	slices.SortFunc(sources, func(a, b Source) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name(), b.Name()))
	})
	return sources
}
