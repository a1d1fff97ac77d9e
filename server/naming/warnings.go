package naming

import (
	"log/slog"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// warnings are the log lines that clients can cause. Their texts are constants, so
// that whoever gives the logger can count those that repeat (server case SB-23).
type warnings struct{ logger *slog.Logger }

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
	w.logger.Warn(message,
		slog.String("service", wire.Excerpt(k.String())), slog.String("ip", i.IP), slog.Int("port", i.Port),
		slog.Any("ignored", ignored), slog.Duration("interval", i.Intervals.Beat),
		slog.Duration("timeout", i.Intervals.Timeout), slog.Duration("delete", i.Intervals.Delete))
}

// clockAhead warns of a node whose clock is wrong.
func (w *warnings) clockAhead(k wire.ServiceKey, node uint16) {
	w.logger.Warn("a record's version is far in the future; the clock of the node that made it is wrong",
		slog.String("service", wire.Excerpt(k.String())), slog.Int("node", int(node)))
}

// held warns of removals that were put off.
func (w *warnings) held(k wire.ServiceKey, held, size int) {
	w.logger.Warn("more than half of a service fell silent at once; removal is spread out",
		slog.String("service", wire.Excerpt(k.String())), slog.Int("held", held), slog.Int("instances", size))
}
