package autoconfig

import (
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
)

func TestLoggers_LevelsChangeWhileTheApplicationRuns(t *testing.T) {
	log, text := logTo()
	var loggers *Loggers
	var root *slog.Logger
	app := start(t, alone, everything, log, fx.Populate(&loggers, &root))
	mine := loggers.Logger("mine")
	child := mine.With("a", 1).WithGroup("g")

	_, body := get(t, app, "/actuator/loggers")
	shown := tree(t, body)
	require.Equal(t, []any{"OFF", "ERROR", "WARN", "INFO", "DEBUG"}, shown["levels"])
	require.Equal(t, map[string]any{"effectiveLevel": "DEBUG"}, shown["loggers"].(map[string]any)["mine"])
	require.Contains(t, shown["loggers"], "web")

	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"mine", `{"configuredLevel":"WARN"}`, 204, `{"configuredLevel":"WARN","effectiveLevel":"WARN"}`},
		{"root", `{"configuredLevel":"error"}`, 204, `{"configuredLevel":"ERROR","effectiveLevel":"ERROR"}`},
		{"mine", `{"configuredLevel":"loud"}`, 400, `{"configuredLevel":"WARN","effectiveLevel":"WARN"}`},
		{"mine", `{"configuredLevel":null}`, 204, `{"effectiveLevel":"ERROR"}`},
		{"mine", `{"configuredLevel":"OFF"}`, 204, `{"configuredLevel":"OFF","effectiveLevel":"OFF"}`},
		{"mine", `level`, 400, `{"configuredLevel":"OFF","effectiveLevel":"OFF"}`},
	} {
		status, _ := post(t, app, "/actuator/loggers/"+c.name, c.body)
		require.Equal(t, c.status, status, c.body)
		_, body := get(t, app, "/actuator/loggers/"+c.name)
		require.JSONEq(t, c.want, body, c.body)
	}
	status, answer := post(t, app, "/actuator/loggers/theirs", `{"configuredLevel":"WARN"}`)
	require.Equal(t, 404, status)
	require.Contains(t, answer, "known are ROOT, ")
	status, _ = get(t, app, "/actuator/loggers/theirs")
	require.Equal(t, 404, status)

	root.Warn("unheard")
	child.Error("unheard")
	require.NoError(t, loggers.SetLevel("mine", "debug"))
	child.Debug("heard", "b", 2)
	require.NotContains(t, text.String(), "unheard")
	require.Contains(t, text.String(), "msg=heard a=1 g.b=2")
	require.ErrorIs(t, loggers.SetLevel("theirs", "info"), ErrNoLogger)

	// Somebody wrapped the root's handler: the name's own level counts all the same.
	wrapped := loggers.Named("other", slog.New(struct{ slog.Handler }{root.Handler()}))
	require.NoError(t, loggers.SetLevel("other", "debug"))
	require.False(t, root.Enabled(t.Context(), slog.LevelInfo))
	require.True(t, wrapped.Enabled(t.Context(), slog.LevelDebug))
	require.NoError(t, loggers.SetLevel("other", ""))
	require.False(t, wrapped.Enabled(t.Context(), slog.LevelWarn))
}

func TestLoggers_ALineThatIsNotLoggedAllocatesNothing(t *testing.T) {
	loggers := newLogger(DefaultLoggingProperties(), io.Discard)
	l := loggers.Logger("mine")
	require.Zero(t, testing.AllocsPerRun(100, func() { l.Debug("unheard") }))
}

func TestLoggers_TakingTheLevelOfTheRootAwayRestoresTheConfiguredOne(t *testing.T) {
	l := newLoggers(slog.NewTextHandler(&logText{}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l.configure(LoggingProperties{Level: "warn"}, nil)
	require.NoError(t, l.SetLevel("ROOT", "OFF"))
	require.NoError(t, l.SetLevel("root", ""))
	require.Equal(t, LoggerLevel{Configured: "WARN", Effective: "WARN"}, l.Levels()["ROOT"])
}
