package otlp

import (
	"log/slog"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
)

// Module gives an application a trace.TracerProvider that sends to
// management.otlp.tracing.endpoint, with application.name for the service. While
// there is no endpoint, or management.tracing.enabled is false, the provider is
// that of package noop, and nothing is traced, started or opened.
//
// An application with a trace.TracerProvider of its own does without the module.
var Module = autoconfig.Options(
	autoconfig.Properties("management.tracing", DefaultSamplingProperties()),
	autoconfig.Properties("management.otlp.tracing", DefaultExportProperties()),
	fx.Module("otlp", fx.Provide(newProvider)),
)

// newProvider is constructed before whoever makes spans, so that its hooks start
// it before and stop it after them.
func newProvider(
	lc fx.Lifecycle, application autoconfig.ApplicationProperties, sampling SamplingProperties, export ExportProperties,
	loggers *autoconfig.Loggers, logger *slog.Logger,
) (trace.TracerProvider, error) {
	if export.Endpoint == "" || !sampling.Enabled {
		return noop.NewTracerProvider(), nil
	}
	t, err := New(Options{
		ServiceName: application.Name, Sampling: sampling, Export: export, Logger: loggers.Named("tracing", logger),
	})
	if err != nil {
		return nil, err
	}
	lc.Append(fx.Hook{OnStart: t.Start, OnStop: t.Stop})
	return t.Provider(), nil
}
