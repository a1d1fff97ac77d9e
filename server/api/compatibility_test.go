package api

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompatibilityDocument holds docs/compatibility.md to the code: every route
// is described, and nothing else; every test it names exists.
func TestCompatibilityDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/compatibility.md")
	require.NoError(t, err)

	var documented []string
	for _, m := range regexp.MustCompile("`([A-Z]+ /v1/[a-z/]+)`").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, m[1])
	}
	var offered []string
	for _, r := range Routes() {
		offered = append(offered, r.Method+" "+r.Path)
	}
	require.ElementsMatch(t, offered, documented)

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
