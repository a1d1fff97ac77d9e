package memory

import (
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/registry"
)

// Module provides a new *[Registry], also as [registry.ServiceRegistry], and
// closes it when the application stops.
var Module = fx.Module("registry.memory",
	fx.Provide(
		fx.Annotate(New, fx.OnStop(func(r *Registry) error { return r.Close() })),
		asServiceRegistry,
	),
)

// SharedModule provides r instead, which several applications share and none
// closes.
func SharedModule(r *Registry) fx.Option {
	return fx.Module("registry.memory", fx.Supply(r), fx.Provide(asServiceRegistry))
}

func asServiceRegistry(r *Registry) registry.ServiceRegistry { return r }
