package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// block is a fenced block of a page.
type block struct {
	page string // path below the repository
	line int    // of the opening fence
	lang string // what stands behind the fence
	note string // the HTML comment on the line before the fence
	text string
}

func (b block) at() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// file is the path that a block shows in its first line, "" when there is none:
//
//	// user-service/main.go
//	# user-service/application.yaml
func (b block) file() string {
	first, _, _ := strings.Cut(b.text, "\n")
	for _, mark := range []string{"// ", "# "} {
		name, ok := strings.CutPrefix(first, mark)
		if ok && !strings.ContainsAny(name, " :") && slices.Contains([]string{".go", ".yaml"}, filepath.Ext(name)) {
			return name
		}
	}
	return ""
}

// pages are the documents for users, whose every block is checked.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{"docs/from-spring.md", "docs/configuration.md", "docs/architecture.md"}
	for _, pattern := range []string{"README*.md", "docs/guide/*.md"} {
		names, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pattern)))
		require.NoError(t, err)
		require.NotEmpty(t, names, pattern)
		for _, name := range names {
			found = append(found, strings.TrimPrefix(filepath.ToSlash(name), "../"))
		}
	}
	return found
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(page)))
	require.NoError(t, err)
	return string(text)
}

// blocks returns the blocks of all pages in one of the languages.
func blocks(t *testing.T, langs ...string) []block {
	t.Helper()
	var found []block
	for _, page := range pages(t) {
		for _, b := range blocksOf(t, page) {
			if slices.Contains(langs, b.lang) {
				found = append(found, b)
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

func blocksOf(t *testing.T, page string) []block {
	t.Helper()
	const fence = "```"
	var found []block
	var open *block
	before := ""
	for i, line := range strings.Split(readPage(t, page), "\n") {
		switch {
		case open == nil && strings.HasPrefix(line, fence):
			open = &block{page: page, line: i + 1, lang: strings.TrimPrefix(line, fence)}
			if note, ok := strings.CutPrefix(before, "<!--"); ok {
				open.note = strings.TrimSpace(strings.TrimSuffix(note, "-->"))
			}
		case open == nil:
			require.NotContains(t, line, fence, "%s:%d: a fence begins its line", page, i+1)
			before = line
		case line == fence:
			found = append(found, *open)
			open, before = nil, ""
		default:
			open.text += line + "\n"
		}
	}
	require.Nil(t, open, "%s: the last block has no end", page)
	return found
}

// TestEveryBlockIsOfAKindThatIsChecked keeps a block from being skipped because
// of a misspelt language.
func TestEveryBlockIsOfAKindThatIsChecked(t *testing.T) {
	known := []string{"go", "yaml", "sh", "json", "text", "java", "xml", "properties"}
	for _, page := range pages(t) {
		for _, b := range blocksOf(t, page) {
			require.Contains(t, known, b.lang, b.at())
			if b.note != "" {
				kind, _, _ := strings.Cut(b.note, ":")
				require.Contains(t, []string{b.lang}, kind, "%s: the note begins with the block's language", b.at())
			}
		}
	}
}
