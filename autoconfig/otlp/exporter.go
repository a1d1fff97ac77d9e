package otlp

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
)

const (
	// lossInterval is how often it is said that spans are lost.
	lossInterval = time.Minute
	// maxReason bounds what is logged of an error: a collector's whole answer may be
	// in it.
	maxReason = 256
)

// exporter sends batches through another one and keeps its failures to itself:
// they are logged now and then with a count, where OpenTelemetry would tell its
// global handler of each. Its ExportSpans is called by one goroutine at a time,
// the batcher's, and Shutdown after the last of these calls.
type exporter struct {
	to       sdktrace.SpanExporter
	endpoint string
	logger   *slog.Logger

	lost atomic.Int64 // since the last line about it
	say  rate.Sometimes

	cut    context.Context // done when no more time is spent on sending
	cutNow context.CancelFunc
	ended  chan struct{} // closed by Shutdown
}

func newExporter(to sdktrace.SpanExporter, endpoint string, logger *slog.Logger) *exporter {
	cut, cutNow := context.WithCancel(context.Background())
	return &exporter{
		to: to, endpoint: endpoint, logger: logger, say: rate.Sometimes{First: 1, Interval: lossInterval},
		cut: cut, cutNow: cutNow, ended: make(chan struct{}),
	}
}

// ExportSpans implements sdktrace.SpanExporter. It never fails: what cannot be
// sent is lost and counted.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.cut, cancel)()
	if err := e.to.ExportSpans(ctx, spans); err != nil {
		e.lost.Add(int64(len(spans)))
		e.say.Do(func() { e.logLoss(slog.String("error", reason(err))) })
	}
	return nil
}

func (e *exporter) logLoss(attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("endpoint", e.endpoint), slog.Int64("spans", e.lost.Swap(0)))
	e.logger.LogAttrs(context.Background(), slog.LevelWarn, "spans were not exported and are lost", attrs...)
}

// reason is the beginning of an error, in one line.
func reason(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// Shutdown implements sdktrace.SpanExporter.
func (e *exporter) Shutdown(ctx context.Context) error {
	defer close(e.ended)
	defer e.cutNow()
	if e.lost.Load() > 0 {
		e.logLoss()
	}
	return e.to.Shutdown(ctx)
}
