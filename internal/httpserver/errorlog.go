package httpserver

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/logsample"
)

const (
	// errorBurst of one kind of error are written in an errorInterval.
	errorBurst    = 5
	errorInterval = time.Minute
	// maxErrorText has room for the stack of a panic.
	maxErrorText = 8 << 10
)

// errorLog takes what net/http writes about connections.
type errorLog struct {
	log     *log.Logger
	samples *logsample.Sampler
	logger  *slog.Logger
}

func newErrorLog(logger *slog.Logger) *errorLog {
	l := &errorLog{samples: logsample.New(errorBurst, errorInterval)}
	l.logger = slog.New(l.samples.Handler(logger.Handler()))
	l.log = log.New(l, "", 0)
	return l
}

// kinds are the beginnings of what net/http writes, and how it is told here. The
// texts hold addresses, so they are no messages that could be counted.
var kinds = []struct {
	begins, message string
	level           slog.Level
}{
	{"http: TLS handshake error", "a TLS handshake failed", slog.LevelWarn},
	{"http: panic serving", "a handler panicked", slog.LevelError},
	{"http2: panic serving", "a handler panicked", slog.LevelError},
	{"http: Accept error", "connections cannot be accepted", slog.LevelError},
	{"", "a connection failed", slog.LevelWarn},
}

// Write takes one line.
func (l *errorLog) Write(b []byte) (int, error) {
	text := strings.TrimSpace(string(b[:min(len(b), maxErrorText)]))
	for _, k := range kinds {
		if strings.HasPrefix(text, k.begins) {
			l.logger.Log(context.Background(), k.level, k.message, "error", text)
			break
		}
	}
	return len(b), nil
}
