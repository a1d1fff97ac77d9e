package docs_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeShowsTheGreeter compares the program and the configuration of both
// READMEs with those of examples/greeter, which are compiled and run by its own
// test.
func TestReadmeShowsTheGreeter(t *testing.T) {
	t.Parallel()
	for _, readme := range []string{"README.md", "README.zh-CN.md"} {
		text := readPage(t, readme)
		for _, c := range []struct{ block, file, from string }{
			{"(?s)```go\n(.*?)```", "../examples/greeter/main.go", "(?s)(package main.*)"},
			{"(?s)```yaml\n# application.yaml\n(.*?)```", "../examples/greeter/application.yaml", "(?s)(.*)"},
		} {
			file, err := os.ReadFile(c.file)
			require.NoError(t, err)
			shown := regexp.MustCompile(c.block).FindStringSubmatch(text)
			require.NotNil(t, shown, "%s: %s", readme, c.block)
			require.Equal(t, regexp.MustCompile(c.from).FindStringSubmatch(string(file))[1], shown[1], "%s: %s", readme, c.file)
		}
	}
}
