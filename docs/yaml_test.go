package docs_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.yaml.in/yaml/v3"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/server"
)

// The YAML blocks of the pages are configurations of an application, unless a
// comment before the block says something else:
//
//	<!-- yaml: server -->      of the registry server
//	<!-- yaml: warns -->       of an application; the text says what is warned of
//	<!-- yaml: properties T --> with a block of the reader's own below app
//	<!-- yaml: other -->       of another program

// TestYAMLBlocksAreConfigurations has autoconfig read every block, and finds no
// mistake and no key that nothing reads.
func TestYAMLBlocksAreConfigurations(t *testing.T) {
	for _, b := range blocks(t, "yaml") {
		t.Run(b.at(), func(t *testing.T) {
			var tree map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(b.text), &tree))
			kind := strings.TrimSpace(strings.TrimPrefix(b.note, "yaml:"))
			if kind == "other" {
				return
			}
			var logged bytes.Buffer
			opts := []fx.Option{
				autoconfig.ConfigYAML(b.text),
				autoconfig.Default("application.name", "docs"),
				autoconfig.Logger(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn}))),
			}
			if kind == "server" {
				opts = append(opts, server.Module)
			}
			_, err := autoconfig.New(opts...)
			require.NoError(t, err, b.text)
			if kind == "warns" {
				require.NotEmpty(t, logged.String())
				return
			}
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
