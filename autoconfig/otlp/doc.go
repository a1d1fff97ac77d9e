// Package otlp sends the traces of an application to a collector of
// OpenTelemetry, as OTLP over HTTP. It is opt-in, since the exporter brings
// dependencies that most applications need not carry:
//
//	autoconfig.Run(otlp.Module, fx.Invoke(routes))
//
// with management.otlp.tracing.endpoint in the configuration. Package autoconfig
// then puts spans around the requests that come in and the calls by name.
//
// Here belongs what brings finished spans out of the process. Here does not belong
// what makes spans, nor metrics and logs, which have their own ways out.
package otlp
