package docs_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeShowsTheGreeter compares the README's program and configuration with
// those of examples/greeter, which are compiled and run by its own test.
func TestReadmeShowsTheGreeter(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for _, c := range []struct{ block, file, from string }{
		{"(?s)```go\n(.*?)```", "../examples/greeter/main.go", "(?s)(package main.*)"},
		{"(?s)```yaml\n# application.yaml\n(.*?)```", "../examples/greeter/application.yaml", "(?s)(.*)"},
	} {
		file, err := os.ReadFile(c.file)
		require.NoError(t, err)
		shown := regexp.MustCompile(c.block).FindSubmatch(readme)
		require.NotNil(t, shown, c.block)
		require.Equal(t, string(regexp.MustCompile(c.from).FindSubmatch(file)[1]), string(shown[1]), c.file)
	}
}

// TestReadmeLinksLeadSomewhere checks the links into this repository.
func TestReadmeLinksLeadSomewhere(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllSubmatch(readme, -1) {
		_, err := os.Stat("../" + string(m[1]))
		require.NoError(t, err)
	}
}
