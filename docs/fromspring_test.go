package docs_test

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/rollcall-go/rollcall/autoconfig"
)

var springRow = regexp.MustCompile("(?m)^\\| `((?:spring|server|management|logging)\\.[a-z._-]+)` \\| (same|none|(?:read as )?`[^`]+`) \\|")

// TestFromSpringSaysWhatTheLoaderSays holds the tables of from-spring.md against
// the loader: a key that is the same is read, one with another name is read as ours,
// and another one is warned of, with the key that takes its place where there is one.
func TestFromSpringSaysWhatTheLoaderSays(t *testing.T) {
	t.Parallel()
	tables, _, _ := strings.Cut(readPage(t, "docs/from-spring.md"), "## Where our default differs")
	rows := springRow.FindAllStringSubmatch(tables, -1)
	require.Greater(t, len(rows), 100)
	seen := map[string]bool{}
	for _, row := range rows {
		key := row[1]
		here, alias := strings.CutPrefix(row[2], "read as ")
		here = strings.Trim(here, "`")
		require.False(t, seen[key], "%s has two rows", key)
		seen[key] = true
		logged := saidOf(t, key)
		switch {
		case here == "same":
			require.Empty(t, logged, key)
		case alias:
			require.Contains(t, logged, "level=INFO", key)
			require.Contains(t, logged, " as="+here+"\n", key)
		case here == "none":
			require.Contains(t, logged, "has no effect", key)
			require.NotContains(t, logged, " use=", key)
		default:
			require.Regexp(t, `use="?`+regexp.QuoteMeta(here)+`\b`, logged, key)
		}
	}
}

// TestFromSpringNamesDefaultsAsTheyAre holds the table of differing defaults
// against configuration.md.
func TestFromSpringNamesDefaultsAsTheyAre(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readPage(t, "docs/from-spring.md"), "## Where our default differs")
	table, _, _ = strings.Cut(table, "\n## ")
	configuration := readPage(t, "docs/configuration.md")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		require.Regexp(t, "(?m)^\\| `"+regexp.QuoteMeta(row[1])+"`<br>[^|]*\\|[^|]*\\| `"+regexp.QuoteMeta(row[2])+"` \\|", configuration)
	}
}

// saidOf is what is logged about a document with one key, which is empty and so
// leaves the default.
func saidOf(t *testing.T, key string) string {
	t.Helper()
	var logged bytes.Buffer
	document, err := yaml.Marshal(map[string]any{key: nil})
	require.NoError(t, err)
	_, err = autoconfig.New(
		autoconfig.ConfigYAML(string(document)),
		autoconfig.Default("application.name", "docs"),
		autoconfig.Logger(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelInfo}))),
	)
	require.NoError(t, err)
	var said strings.Builder
	for line := range strings.Lines(logged.String()) {
		if strings.Contains(line, " key=") {
			said.WriteString(line)
		}
	}
	return said.String()
}
