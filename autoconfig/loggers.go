package autoconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Names of the loggers of this module's parts; that of the registry's client is
// naming unless log-name says otherwise.
const (
	loggerRoot         = "ROOT"
	loggerWeb          = "web"
	loggerRegistry     = "registry"
	loggerDiscovery    = "discovery"
	loggerLoadBalancer = "loadbalancer"
	loggerNaming       = "naming"
)

// levelOff is above every level that is logged at.
const levelOff = slog.Level(1 << 20)

// Loggers are the loggers of an application by name, each with a level that can
// be changed while it runs. A name that has no level of its own follows ROOT, the
// graph's *slog.Logger. Where the application brought its logger, that one's own
// level counts as well. It is safe for concurrent use.
type Loggers struct {
	mu     sync.Mutex
	levels map[string]*loggerLevel
	root   *loggerLevel
	base   slog.Handler // what ROOT writes to
	// configured is the level of ROOT in the configuration, "" where that has none.
	configured string
}

// loggerLevel is the level of one name; nil follows the root's.
type loggerLevel struct{ own atomic.Pointer[slog.Level] }

// newLoggers returns the loggers over a handler that lets everything pass that is
// to be filtered by name.
func newLoggers(base slog.Handler) *Loggers {
	root := &loggerLevel{}
	return &Loggers{levels: map[string]*loggerLevel{loggerRoot: root}, root: root, base: base}
}

// Logger returns the logger of a name, which may be a new one. It writes where the
// configured logger writes; whoever exchanged the graph's *slog.Logger gives it to
// [Loggers.Named].
func (l *Loggers) Logger(name string) *slog.Logger {
	return slog.New(levelHandler{inner: l.base, loggers: l, level: l.level(name)})
}

// Named returns the logger of a name that writes where another one writes, with
// what that one adds.
func (l *Loggers) Named(name string, to *slog.Logger) *slog.Logger {
	h := levelHandler{inner: to.Handler(), loggers: l, level: l.level(name), around: true}
	if own, ok := h.inner.(levelHandler); ok && own.loggers == l {
		h.inner, h.around = own.inner, own.around
	}
	return slog.New(h)
}

func (l *Loggers) level(name string) *loggerLevel {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.EqualFold(name, loggerRoot) {
		return l.root
	}
	level := l.levels[name]
	if level == nil {
		level = &loggerLevel{}
		l.levels[name] = level
	}
	return level
}

// ErrNoLogger says that nothing logs under a name.
var ErrNoLogger = errors.New("there is no such logger")

// SetLevel gives a name a level of its own: debug, info, warn, error or off, in
// any case; "" takes it away, and ROOT is back at the level of the configuration. It is in effect at
// once and until the configuration says something else. [ErrNoLogger] for a name
// that nobody asked for.
func (l *Loggers) SetLevel(name, level string) error {
	l.mu.Lock()
	found := l.levels[name]
	if strings.EqualFold(name, loggerRoot) {
		found = l.root
		level = cmp.Or(level, l.configured)
	}
	l.mu.Unlock()
	if found == nil {
		return fmt.Errorf("%w: %q", ErrNoLogger, name)
	}
	return found.set(level)
}

func (l *loggerLevel) set(text string) error {
	if text == "" {
		l.own.Store(nil)
		return nil
	}
	level, err := parseLevel(text)
	if err != nil {
		return fmt.Errorf("level %q: %w", text, err)
	}
	l.own.Store(&level)
	return nil
}

// configure sets the levels of the block logging. Of names that it no longer has,
// before, the level is taken away.
func (l *Loggers) configure(p LoggingProperties, before map[string]string) {
	l.mu.Lock()
	l.configured = p.Level
	l.mu.Unlock()
	_ = l.root.set(p.Level) // validated
	for name := range before {
		if _, stays := p.Levels[name]; !stays {
			_ = l.level(name).set("")
		}
	}
	for name, level := range p.Levels {
		_ = l.level(name).set(level)
	}
}

// LoggerLevel is the level of one name as the actuator shows it.
type LoggerLevel struct {
	// Configured is the name's own level, "" when it has none.
	Configured string `json:"configuredLevel,omitempty"`
	// Effective is the level in effect.
	Effective string `json:"effectiveLevel"`
}

// Levels returns all names with their levels.
func (l *Loggers) Levels() map[string]LoggerLevel {
	l.mu.Lock()
	levels := maps.Clone(l.levels)
	l.mu.Unlock()
	shown := make(map[string]LoggerLevel, len(levels))
	for name, level := range levels {
		shown[name] = l.describe(level)
	}
	return shown
}

func (l *Loggers) describe(level *loggerLevel) LoggerLevel {
	var d LoggerLevel
	if own := level.own.Load(); own != nil {
		d.Configured = levelName(*own)
	}
	d.Effective = levelName(levelOff)
	for _, at := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if at >= l.effective(level) && l.base.Enabled(context.Background(), at) {
			d.Effective = levelName(at)
			break
		}
	}
	return d
}

// effective is the lowest level that is logged for a name.
func (l *Loggers) effective(level *loggerLevel) slog.Level {
	for _, from := range []*loggerLevel{level, l.root} {
		if own := from.own.Load(); own != nil {
			return *own
		}
	}
	return slog.LevelDebug - 1<<10
}

// levelNames are the levels in Spring's spelling, loudest first.
var levelNames = []string{"OFF", "ERROR", "WARN", "INFO", "DEBUG"}

func levelName(l slog.Level) string {
	switch {
	case l > slog.LevelError:
		return "OFF"
	case l > slog.LevelWarn:
		return "ERROR"
	case l > slog.LevelInfo:
		return "WARN"
	case l > slog.LevelDebug:
		return "INFO"
	}
	return "DEBUG"
}

func (l *Loggers) names() []string { return slices.Sorted(maps.Keys(l.Levels())) }

// levelHandler lets pass what the level of its name admits.
type levelHandler struct {
	inner   slog.Handler
	loggers *Loggers
	level   *loggerLevel
	// around says that inner is somebody else's, who may have wrapped one of these
	// of another name: the level of the outer one counts.
	around bool
}

// decided marks the context of a question whose level was decided by a name.
type decided struct{}

// Enabled implements [slog.Handler].
func (h levelHandler) Enabled(ctx context.Context, at slog.Level) bool {
	if ctx.Value(decided{}) == nil && at < h.loggers.effective(h.level) {
		return false
	}
	if h.around {
		ctx = context.WithValue(ctx, decided{}, true)
	}
	return h.inner.Enabled(ctx, at)
}

// Handle implements [slog.Handler].
func (h levelHandler) Handle(ctx context.Context, r slog.Record) error { return h.inner.Handle(ctx, r) }

// WithAttrs implements [slog.Handler].
func (h levelHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.inner = h.inner.WithAttrs(attrs)
	return h
}

// WithGroup implements [slog.Handler].
func (h levelHandler) WithGroup(name string) slog.Handler {
	h.inner = h.inner.WithGroup(name)
	return h
}
