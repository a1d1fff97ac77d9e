package nacos

import "log/slog"

// Options say where to register and how. Only the Connection is required; the zero
// value of every other field means its default.
type Options struct {
	// Connection is to the registry.
	Connection
	// AllowShortBeat admits beat intervals below one second, which are refused
	// otherwise because they are mostly seconds written into a field of
	// milliseconds (C-R16).
	AllowShortBeat bool
	// Watch adopts what an operator changes at the registry.
	Watch Watch
	// Logger receives what no caller is told; nil discards.
	Logger *slog.Logger
}
