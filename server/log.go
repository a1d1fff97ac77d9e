package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"go.uber.org/fx"
)

const (
	// maxQueuedLogs is how many log records wait for a slow target.
	maxQueuedLogs = 1024
	// logFlush bounds how long a stop waits for them.
	logFlush = time.Second
)

// queuedLogs writes log records on a goroutine of its own, so that a log target
// that blocks or is full, such as a pipe nobody reads, stops no request (SB-23).
// What does not fit the queue is counted and lost.
type queuedLogs struct {
	records chan queuedRecord
	lost    atomic.Int64
	stop    chan struct{}
	done    chan struct{}
}

type queuedRecord struct {
	handler slog.Handler
	record  slog.Record
}

// queueLogs puts the server's own log records behind a queue.
func queueLogs(lc fx.Lifecycle, logger *slog.Logger) *slog.Logger {
	q := &queuedLogs{
		records: make(chan queuedRecord, maxQueuedLogs),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	go q.run(logger)
	lc.Append(fx.StopHook(q.close))
	return slog.New(&queuedHandler{logger.Handler(), q})
}

func (q *queuedLogs) run(logger *slog.Logger) {
	defer close(q.done)
	for {
		select {
		case r := <-q.records:
			q.write(r, logger)
			continue
		case <-q.stop:
		}
		for {
			select {
			case r := <-q.records:
				q.write(r, logger)
			default:
				return
			}
		}
	}
}

func (q *queuedLogs) write(r queuedRecord, logger *slog.Logger) {
	// There is nowhere to tell that the log cannot be written.
	_ = r.handler.Handle(context.Background(), r.record)
	if lost := q.lost.Swap(0); lost > 0 {
		logger.Warn("log lines were lost, as the target did not keep up", "count", lost)
	}
}

// close writes what waits. A target that still blocks does not hold up the end
// of the process, which ends the goroutine too.
func (q *queuedLogs) close() {
	close(q.stop)
	select {
	case <-q.done:
	case <-time.After(logFlush):
	}
}

// queuedHandler is a slog.Handler that leaves the writing to a queue.
type queuedHandler struct {
	slog.Handler
	queue *queuedLogs
}

func (h *queuedHandler) Handle(_ context.Context, r slog.Record) error {
	select {
	case h.queue.records <- queuedRecord{h.Handler, r.Clone()}:
	default:
		h.queue.lost.Add(1)
	}
	return nil
}

func (h *queuedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &queuedHandler{h.Handler.WithAttrs(attrs), h.queue}
}

func (h *queuedHandler) WithGroup(name string) slog.Handler {
	return &queuedHandler{h.Handler.WithGroup(name), h.queue}
}
