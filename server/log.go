package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/logsample"
)

const (
	// maxQueuedLogs is how many log records wait for a slow target.
	maxQueuedLogs = 1024
	// logFlush bounds how long a stop waits for them.
	logFlush = time.Second
	// logBurst of one message are written in a logInterval; the others are counted.
	logBurst    = 20
	logInterval = time.Minute
)

// logThrough keeps the whole log from harming the server (SB-23): messages that
// repeat are counted, so that no client and no target fills a disk, and nobody
// waits for the log's target.
func logThrough(to slog.Handler) (slog.Handler, func()) {
	queue := newQueuedLogs(to)
	sampler := logsample.New(logBurst, logInterval)
	return sampler.Handler(&queuedHandler{to, queue}), func() {
		sampler.Close()
		queue.close()
	}
}

// queuedLogs writes log records on a goroutine of its own, so that a log target
// that blocks or is full, such as a pipe nobody reads, stops no request (SB-23).
// What does not fit the queue is counted and lost.
type queuedLogs struct {
	to      slog.Handler
	records chan queuedRecord
	lost    atomic.Int64
	stop    chan struct{}
	done    chan struct{}
}

type queuedRecord struct {
	handler slog.Handler
	record  slog.Record
}

func newQueuedLogs(to slog.Handler) *queuedLogs {
	q := &queuedLogs{
		to:      to,
		records: make(chan queuedRecord, maxQueuedLogs),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	go q.run()
	return q
}

func (q *queuedLogs) run() {
	defer close(q.done)
	for {
		select {
		case r := <-q.records:
			q.write(r)
			continue
		case <-q.stop:
		}
		for {
			select {
			case r := <-q.records:
				q.write(r)
			default:
				return
			}
		}
	}
}

func (q *queuedLogs) write(r queuedRecord) {
	// There is nowhere to tell that the log cannot be written.
	_ = r.handler.Handle(context.Background(), r.record)
	if lost := q.lost.Swap(0); lost > 0 {
		warning := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were lost, as the target did not keep up", 0)
		warning.AddAttrs(slog.Int64("count", lost))
		_ = q.to.Handle(context.Background(), warning)
	}
}

// close writes what waits. A target that still blocks does not hold up the end
// of the process, which ends the goroutine too.
func (q *queuedLogs) close() {
	close(q.stop)
	q.wait(q.done)
}

func (q *queuedLogs) wait(done <-chan struct{}) {
	select {
	case <-done:
	case <-time.After(logFlush):
	}
}

// add takes a record, whoever waits for what.
func (q *queuedLogs) add(r queuedRecord) {
	select {
	case <-q.stop:
		// The last words come after the queue, and wait no longer than it does.
		written := make(chan struct{})
		go func() {
			defer close(written)
			<-q.done
			q.write(r)
		}()
		q.wait(written)
		return
	default:
	}
	select {
	case q.records <- r:
	default:
		q.lost.Add(1)
	}
}

// queuedHandler is a slog.Handler that leaves the writing to a queue.
type queuedHandler struct {
	slog.Handler
	queue *queuedLogs
}

func (h *queuedHandler) Handle(_ context.Context, r slog.Record) error {
	h.queue.add(queuedRecord{h.Handler, r.Clone()})
	return nil
}

func (h *queuedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &queuedHandler{h.Handler.WithAttrs(attrs), h.queue}
}

func (h *queuedHandler) WithGroup(name string) slog.Handler {
	return &queuedHandler{h.Handler.WithGroup(name), h.queue}
}
