package docs_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Go blocks of the pages are of three kinds:
//
//   - a whole program, which begins with its package clause;
//   - declarations, which get a package clause and the imports they need;
//   - statements, which become the body of a function that returns an error.
//     What they use stands in a comment before the block, as the parameters of
//     that function: <!-- go: ctx context.Context, client *http.Client -->
//
// Programs that name their file in the first line are also run, by the tests of
// the guide.

// TestGoBlocksCompile compiles every Go block without a file in the tree: the
// blocks are an overlay over folders that do not exist.
func TestGoBlocksCompile(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	overlay, args, places := newOverlay(t), []string{"build"}, map[string]string{}
	for n, b := range blocks(t, "go") {
		if strings.HasSuffix(b.file(), "_test.go") {
			continue // is run with its program
		}
		folder := fmt.Sprintf("zz_docs_%03d", n)
		overlay.add(filepath.Join(root, folder, "block.go"), goSource(t, b))
		args, places[folder] = append(args, "./"+folder), b.at()
	}
	cmd := exec.CommandContext(t.Context(), "go", slices.Insert(args, 1, overlay.flag())...)
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	out := string(text)
	for folder, place := range places {
		out = strings.ReplaceAll(out, folder, place)
	}
	require.NoError(t, err, out)
}

// overlay has the go command see files that are not in the tree.
type overlay struct {
	t     *testing.T
	dir   string
	files map[string]string
}

func newOverlay(t *testing.T) *overlay {
	t.Helper()
	return &overlay{t, t.TempDir(), map[string]string{}}
}

func (o *overlay) add(path, source string) {
	o.t.Helper()
	real := filepath.Join(o.dir, fmt.Sprintf("%d.go", len(o.files)))
	require.NoError(o.t, os.WriteFile(real, []byte(source), 0o600))
	o.files[path] = real
}

// flag writes the overlay and returns what the go command wants to know of it.
func (o *overlay) flag() string {
	o.t.Helper()
	text, err := json.Marshal(map[string]any{"Replace": o.files})
	require.NoError(o.t, err)
	path := filepath.Join(o.dir, "overlay.json")
	require.NoError(o.t, os.WriteFile(path, text, 0o600))
	return "-overlay=" + path
}

// goSource returns a block as a file.
func goSource(t *testing.T, b block) string {
	t.Helper()
	formatted, err := format.Source([]byte(b.text))
	require.NoError(t, err, b.at())
	require.Equal(t, string(formatted), b.text, "%s is not formatted", b.at())
	if isProgram(b.text) {
		return strings.Replace(b.text, "package main", "package docs", 1) // which is not linked
	}
	parameters := strings.TrimSpace(strings.TrimPrefix(b.note, "go:"))
	body := b.text
	if parameters != "" || !isDeclarations(body) {
		body = fmt.Sprintf("func _(%s) error {\n%s\nreturn nil\n}\n", parameters, b.text)
	}
	return "package docs\n\n" + imports(t, b, body) + body
}

func isProgram(text string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	return err == nil
}

func isDeclarations(text string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.SkipObjectResolution)
	return err == nil
}

// known are the packages that a fragment may use without importing them.
var known = []string{
	"context", "database/sql", "errors", "flag", "fmt", "io", "log/slog", "net", "net/http", "net/netip", "os", "strings", "testing", "time",
	"github.com/gin-gonic/gin", "github.com/prometheus/client_golang/prometheus", "go.uber.org/fx",
	"github.com/stretchr/testify/require", "go.opentelemetry.io/otel/trace", "google.golang.org/grpc", "google.golang.org/grpc/credentials/insecure",
	"github.com/rollcall-go/rollcall/autoconfig",
	"github.com/rollcall-go/rollcall/autoconfig/autoconfigtest",
	"github.com/rollcall-go/rollcall/autoconfig/otlp",
	"github.com/rollcall-go/rollcall/discovery",
	"github.com/rollcall-go/rollcall/discovery/nacos",
	"github.com/rollcall-go/rollcall/loadbalance",
	"github.com/rollcall-go/rollcall/loadbalance/gateway",
	"github.com/rollcall-go/rollcall/loadbalance/grpclb",
	"github.com/rollcall-go/rollcall/registry",
	"github.com/rollcall-go/rollcall/server",
}

// imports are those that a fragment needs: the names before a dot that it does
// not declare.
func imports(t *testing.T, b block, body string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, 0)
	require.NoError(t, err, b.at())
	unresolved := map[*ast.Ident]bool{}
	for _, id := range file.Unresolved {
		unresolved[id] = true
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && unresolved[id] {
				used[id.Name] = true
			}
		}
		return true
	})
	var lines strings.Builder
	for _, path := range known {
		if used[path[strings.LastIndexByte(path, '/')+1:]] {
			fmt.Fprintf(&lines, "import %q\n", path)
		}
	}
	if used["healthpb"] {
		lines.WriteString("import healthpb \"google.golang.org/grpc/health/grpc_health_v1\"\n")
	}
	return lines.String()
}
