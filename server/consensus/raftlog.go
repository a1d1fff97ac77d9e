package consensus

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"
)

// raftLogs brings raft's own messages into the server's log, at debug level: what
// an operator has to know is said by this package. They are bounded, since raft
// repeats itself while something is wrong (server case SB-23).
type raftLogs struct {
	logger  *slog.Logger
	limit   *rate.Limiter
	skipped atomic.Int64
}

// newRaftLogger returns the logger for raft.
func newRaftLogger(logger *slog.Logger) hclog.Logger {
	level := hclog.Off
	if logger.Enabled(context.Background(), slog.LevelDebug) {
		level = hclog.Debug
	}
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: level})
	l.RegisterSink(&raftLogs{logger: logger, limit: rate.NewLimiter(rate.Every(time.Second/5), 50)})
	return l
}

// Accept implements [hclog.SinkAdapter].
func (r *raftLogs) Accept(_ string, level hclog.Level, msg string, args ...any) {
	if !r.logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	if !r.limit.Allow() {
		r.skipped.Add(1)
		return
	}
	attrs := []slog.Attr{slog.String("level", level.String()), slog.String("message", msg)}
	if n := r.skipped.Swap(0); n > 0 {
		attrs = append(attrs, slog.Int64("skipped", n))
	}
	for i := 0; i+1 < len(args); i += 2 {
		if key, ok := args[i].(string); ok {
			attrs = append(attrs, slog.Any(key, args[i+1]))
		}
	}
	r.logger.LogAttrs(context.Background(), slog.LevelDebug, "raft", attrs...)
}
