package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.*)$`)
	goRun        = regexp.MustCompile(`\bgo (?:run|build|test)\b[^|;&#\n]*?(\./\S+)`)
	makeTarget   = regexp.MustCompile(`^(?:\$ )?make ([a-z-]+)`)
	changeFolder = regexp.MustCompile(`\bcd ([a-z][\w/-]*)`)
)

// TestLinksLeadSomewhere follows every link into this repository, to the heading
// where it names one.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, m := range markdownLink.FindAllStringSubmatch(readPage(t, page), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // another site
			}
			to := page
			if target != "" {
				to = path.Join(path.Dir(page), target)
			}
			_, err := os.Stat(filepath.Join("..", filepath.FromSlash(to)))
			require.NoError(t, err, "%s links to %s", page, m[1])
			if anchor != "" {
				require.Contains(t, anchors(t, to), anchor, "%s links to %s", page, m[1])
			}
		}
	}
}

// anchors are the headings of a page as links name them.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	var found []string
	for _, m := range heading.FindAllStringSubmatch(readPage(t, page), -1) {
		found = append(found, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, m[1]))
	}
	return found
}

// TestShellBlocksNameWhatIsThere looks for the folders and targets that commands
// name: what is run with go, made with make and changed to with cd.
func TestShellBlocksNameWhatIsThere(t *testing.T) {
	t.Parallel()
	makefile := readPage(t, "Makefile")
	for _, b := range blocks(t, "sh") {
		for _, m := range goRun.FindAllStringSubmatch(b.text, -1) {
			requireFolder(t, b, strings.TrimSuffix(m[1], "/..."))
		}
		for line := range strings.SplitSeq(b.text, "\n") {
			if m := makeTarget.FindStringSubmatch(line); m != nil {
				require.Contains(t, makefile, "\n"+m[1]+":", b.at())
			}
		}
		for _, m := range changeFolder.FindAllStringSubmatch(b.text, -1) {
			if m[1] != "rollcall" { // the clone itself
				requireFolder(t, b, m[1])
			}
		}
	}
}

func requireFolder(t *testing.T, b block, folder string) {
	t.Helper()
	_, err := os.Stat(filepath.Join("..", filepath.FromSlash(folder)))
	require.NoError(t, err, b.at())
}
