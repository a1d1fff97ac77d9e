package autoconfig

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"

	"go.uber.org/fx/fxevent"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
)

// newLogger returns the loggers that the block logging describes.
func newLogger(p LoggingProperties, w io.Writer) *Loggers {
	options := &slog.HandlerOptions{Level: slog.LevelDebug - 1<<10} // the names filter
	var h slog.Handler = slog.NewTextHandler(w, options)
	if p.Format == "json" {
		h = slog.NewJSONHandler(w, options)
	}
	l := newLoggers(h)
	l.configure(p, nil)
	return l
}

func parseLevel(text string) (slog.Level, error) {
	switch strings.ToLower(text) {
	case "debug", "trace":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	case "off":
		return levelOff, nil
	}
	return 0, errors.New("must be debug, info, warn, error or off")
}

// logNotes says what reading the configuration found.
func logNotes(l *slog.Logger, notes []config.Note) {
	for _, n := range notes {
		l.Log(context.Background(), n.Level, n.Text, n.Args...)
	}
}

// graphLogger logs what fx does, at debug level: errors as well, since New,
// Start and Stop return them. What was provided is left out, a page of lines
// with stack traces that says nothing about this run.
//
// It begins with the logger that the configuration describes, so that it works
// whatever is wrong with the graph, and goes on with the graph's own, which may
// be another one.
type graphLogger struct {
	events atomic.Pointer[fxevent.SlogLogger]
}

func (g *graphLogger) use(l *slog.Logger) {
	events := &fxevent.SlogLogger{Logger: l}
	events.UseLogLevel(slog.LevelDebug)
	events.UseErrorLevel(slog.LevelDebug)
	g.events.Store(events)
}

// LogEvent implements [fxevent.Logger].
func (g *graphLogger) LogEvent(event fxevent.Event) {
	switch e := event.(type) {
	case *fxevent.Provided:
		if e.Err == nil {
			return
		}
	case *fxevent.BeforeRun:
		return
	}
	g.events.Load().LogEvent(event)
}
