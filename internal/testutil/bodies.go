package testutil

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBodies returns the source of every function in the test files of the folder
// that a test runs in, by name, for tests about what other tests do.
func TestBodies(t testing.TB) map[string]string {
	t.Helper()
	bodies := map[string]string{}
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				bodies[f.Name.Name] = string(text[positions.Position(f.Pos()).Offset:positions.Position(f.End()).Offset])
			}
		}
	}
	return bodies
}
