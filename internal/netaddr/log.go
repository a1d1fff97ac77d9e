package netaddr

import (
	"context"
	"log/slog"
)

// Log writes the choice as one line, a warning with the key that sets an address if
// it comes with one, and each rejected candidate as a line at debug level (rule B-R2).
func (c Choice) Log(ctx context.Context, logger *slog.Logger) {
	level, attrs := slog.LevelInfo, []slog.Attr{
		slog.String("ip", c.IP), slog.String("interface", c.Interface), slog.String("rule", c.Rule),
	}
	if c.Warning != "" {
		level, attrs = slog.LevelWarn, append(attrs, slog.String("warning", c.Warning), slog.String("use", keyIP))
	}
	logger.LogAttrs(ctx, level, "address chosen", attrs...)
	for _, r := range c.Rejected {
		logger.LogAttrs(ctx, slog.LevelDebug, "address not chosen",
			slog.String("interface", r.Interface), slog.String("address", r.Address), slog.String("reason", r.Reason))
	}
}
