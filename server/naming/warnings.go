package naming

import (
	"log/slog"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// warnings are the log lines that clients can cause. They are rated, so that no
// client fills a disk; what was left out is counted in the next line (server
// case SB-23).
type warnings struct {
	logger *slog.Logger
	rate   *rate.Limiter
	muted  atomic.Uint64
}

func newWarnings(logger *slog.Logger) *warnings {
	return &warnings{logger: logger, rate: rate.NewLimiter(1, 20)}
}

func (w *warnings) log(message string, attrs ...any) {
	if !w.rate.Allow() {
		w.muted.Add(1)
		return
	}
	if muted := w.muted.Swap(0); muted > 0 {
		attrs = append(attrs, slog.Uint64("muted", muted))
	}
	w.logger.Warn(message, attrs...)
}

func oddIntervals(i *Instance) bool {
	_, ignored := wire.IntervalsFrom(i.Metadata)
	return len(ignored) > 0 || !i.Intervals.Ordered()
}

// oddIntervals warns of times that were ignored, or honoured in an odd order.
func (w *warnings) oddIntervals(k wire.ServiceKey, i *Instance) {
	_, ignored := wire.IntervalsFrom(i.Metadata)
	const (
		bad     = "some preserved.* times of an instance are no whole milliseconds from 1000 to 86400000, and their defaults count"
		unusual = "the order of an instance's times is odd, and honoured: usual is interval < timeout <= delete"
	)
	message := bad
	switch ordered := i.Intervals.Ordered(); {
	case !ordered && len(ignored) > 0:
		message = bad + "; " + unusual
	case !ordered:
		message = unusual
	}
	w.log(message,
		slog.String("service", wire.Excerpt(k.String())), slog.String("ip", i.IP), slog.Int("port", i.Port),
		slog.Any("ignored", ignored), slog.Duration("interval", i.Intervals.Beat),
		slog.Duration("timeout", i.Intervals.Timeout), slog.Duration("delete", i.Intervals.Delete))
}

// clockAhead warns of a node whose clock is wrong.
func (w *warnings) clockAhead(k wire.ServiceKey, node uint16) {
	w.log("a record's version is far in the future; the clock of the node that made it is wrong",
		slog.String("service", wire.Excerpt(k.String())), slog.Int("node", int(node)))
}

// held warns of removals that were put off.
func (w *warnings) held(k wire.ServiceKey, held, size int) {
	w.log("more than half of a service fell silent at once; removal is spread out",
		slog.String("service", wire.Excerpt(k.String())), slog.Int("held", held), slog.Int("instances", size))
}
