package docs_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/autoconfig/otlp"
)

// TestYAMLBlocksAreConfigurations has autoconfig read every YAML block, and finds
// no mistake and no key that nothing reads. A block of another program has the
// comment <!-- yaml: other --> before it.
func TestYAMLBlocksAreConfigurations(t *testing.T) {
	t.Parallel()
	for _, b := range blocks(t, "yaml") {
		t.Run(b.at(), func(t *testing.T) {
			var tree map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(b.text), &tree))
			if b.note == "yaml: other" {
				return
			}
			var logged bytes.Buffer
			_, err := autoconfig.New(
				otlp.Module,
				autoconfig.ConfigYAML(b.text),
				autoconfig.Default("application.name", "docs"),
				autoconfig.Logger(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn}))),
			)
			require.NoError(t, err, b.text)
			require.Empty(t, logged.String(), b.text)
		})
	}
}

// TestJSONBlocksAreJSON reads every block of JSON.
func TestJSONBlocksAreJSON(t *testing.T) {
	for _, b := range blocks(t, "json") {
		require.True(t, json.Valid([]byte(b.text)), b.at())
	}
}
