package api

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompatibilityDocument holds docs/compatibility.md to the code: its table of
// routes is the one in the code, and every test it names exists.
func TestCompatibilityDocument(t *testing.T) {
	const path = "../../docs/compatibility.md"
	text, err := os.ReadFile(path)
	require.NoError(t, err)

	const head = "| request | who, while authentication is on | what it does |\n|---|---|---|\n"
	before, rest, found := strings.Cut(string(text), head)
	require.True(t, found, "the table of routes")
	_, after, _ := strings.Cut(rest, "\n\n")
	var table strings.Builder
	for _, r := range Routes() {
		require.NotEmpty(t, r.Doc, "%s %s", r.Method, r.Path)
		fmt.Fprintf(&table, "| `%s %s` | %s | %s |\n", r.Method, r.Path, r.Access, r.Doc)
	}
	want := before + head + table.String() + "\n" + after
	if os.Getenv("ROLLCALL_WRITE_DOCS") != "" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	} else {
		require.Equal(t, want, string(text), "run: ROLLCALL_WRITE_DOCS=1 go test ./server/api -run Compatibility")
	}

	tests := map[string]bool{}
	for _, root := range []string{"..", "../../internal/wire"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(source), -1) {
				tests[m[1]] = true
			}
			return err
		}))
	}
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
		require.True(t, tests[m[1]], "the document names %s", m[1])
	}
}
