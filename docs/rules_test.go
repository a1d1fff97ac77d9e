package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	row      = regexp.MustCompile(`(?m)^\| ([ABCD]-R\d+|case \d+|SB-\d+) \| (.*) \| (.*)\|$`)
	testFunc = regexp.MustCompile(`(?m)^func (Test(?:[ABCD]R|Case|SB)\d\w*)\(`)
	ruleWord = regexp.MustCompile(`^(?:Test)?([ABCD]R|Case|SB)(\d+)$`)
)

// TestRulesNameTheirTests compares the last column of rules.md with the tests
// in the tree: every rule has a test, every test named after a rule has a row.
func TestRulesNameTheirTests(t *testing.T) {
	tests := ruleTests(t)
	text, err := os.ReadFile("rules.md")
	require.NoError(t, err)

	seen := map[string]bool{}
	var stale []string
	want := row.ReplaceAllStringFunc(string(text), func(line string) string {
		m := row.FindStringSubmatch(line)
		seen[m[1]] = true
		kept := fmt.Sprintf("| %s | %s | %s |", m[1], m[2], strings.Join(tests[m[1]], ", "))
		if kept != line {
			stale = append(stale, m[1])
		}
		return kept
	})
	for rule, names := range tests {
		require.True(t, seen[rule], "%v is named after %s, which has no row in rules.md", names, rule)
	}
	for rule := range seen {
		require.NotEmpty(t, tests[rule], "%s stands in rules.md and no test is named after it", rule)
	}
	if os.Getenv("ROLLCALL_WRITE_DOCS") != "" {
		require.NoError(t, os.WriteFile("rules.md", []byte(want), 0o644))
		return
	}
	require.Empty(t, stale, "rules whose tests are others by now: run ROLLCALL_WRITE_DOCS=1 go test ./docs")
}

// ruleTests maps each rule to the tests named after it, with their folders.
func ruleTests(t *testing.T) map[string][]string {
	t.Helper()
	tests := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || len(d.Name()) > 2 && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		for _, m := range testFunc.FindAllStringSubmatch(string(source), -1) {
			for _, rule := range rulesIn(t, m[1]) {
				tests[rule] = append(tests[rule], fmt.Sprintf("%s `%s`", folder, m[1]))
			}
		}
		return nil
	})
	require.NoError(t, err)
	for _, names := range tests {
		slices.Sort(names)
	}
	return tests
}

// rulesIn returns the rules that a test is named after: TestDR7_DR8_Retries has
// D-R7 and D-R8, TestCase08_LateBeat case 8, TestSB05_LateBeat SB-05.
func rulesIn(t *testing.T, test string) []string {
	t.Helper()
	var rules []string
	for word := range strings.SplitSeq(test, "_") {
		m := ruleWord.FindStringSubmatch(word)
		if m == nil {
			break
		}
		n, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		switch m[1] {
		case "Case":
			rules = append(rules, fmt.Sprintf("case %d", n))
		case "SB":
			rules = append(rules, fmt.Sprintf("SB-%02d", n))
		default:
			rules = append(rules, fmt.Sprintf("%s-R%d", m[1][:1], n))
		}
	}
	return rules
}
