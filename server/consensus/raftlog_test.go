package consensus

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSB23_RaftsMessagesAreBounded: raft repeats itself while something is wrong.
func TestSB23_RaftsMessagesAreBounded(t *testing.T) {
	var text logged
	l := newRaftLogger(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for range 10_000 {
		l.Error("failed again", "error", "x", "attempt")
	}
	require.Contains(t, text.String(), `level=DEBUG msg=raft level=error message="failed again" error=x`)
	require.Less(t, strings.Count(text.String(), "\n"), 1000)

	var quiet logged
	newRaftLogger(quiet.logger()).Error("not at info level")
	require.Empty(t, quiet.String())
}
