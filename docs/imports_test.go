package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/rollcall-go/rollcall"

// importRule says what a folder and all below it may know, directly and through
// other packages of this module. The linter shows the direct imports in an editor
// already (depguard in .golangci.yml); it sees neither the indirect ones nor files
// for another system.
type importRule struct {
	folder string
	except []string // folders below it
	ours   []string // folders of this module, beside its own
	never  []string // packages of others, with all below them
}

// Whoever takes one folder compiles no more than it needs, and what is at the heart
// of the server can be moved behind another protocol.
var (
	gin   = "github.com/gin-gonic"
	grpc  = "google.golang.org/grpc"
	raft  = "github.com/hashicorp/raft"
	viper = "github.com/spf13/viper"
	otel  = "go.opentelemetry.io/otel/sdk"

	importRules = []importRule{
		{folder: "registry", ours: []string{"internal"}, never: []string{gin, grpc, raft, viper, otel}},
		{folder: "discovery", ours: []string{"registry", "internal"}, never: []string{gin, grpc, raft, viper, otel}},
		{
			folder: "loadbalance", except: []string{"loadbalance/grpclb", "loadbalance/gateway"},
			ours: []string{"discovery", "registry", "internal"}, never: []string{gin, grpc, raft, viper, otel},
		},
		{folder: "loadbalance/grpclb", ours: []string{"loadbalance", "discovery", "registry", "internal"}, never: []string{gin, raft, viper, otel}},
		{folder: "loadbalance/gateway", ours: []string{"loadbalance", "discovery", "registry", "internal"}, never: []string{grpc, raft, viper, otel}},
		{folder: "autoconfig", ours: []string{"loadbalance", "discovery", "registry", "internal"}, never: []string{raft}},
		{folder: "internal", except: []string{"internal/testutil"}, ours: []string{"registry"}, never: []string{gin, grpc, raft, viper}},

		{folder: "server/naming", ours: []string{"internal"}, never: []string{"net/http", gin, grpc, raft}},
		{folder: "server/state", ours: []string{"internal"}, never: []string{"net/http", gin, grpc, raft}},
		{folder: "server/push", ours: []string{"internal"}, never: []string{"net/http", gin, grpc, raft}},
		{folder: "server/auth", ours: []string{"internal"}, never: []string{"net/http", gin, grpc, raft}},
		{folder: "server/probe", ours: []string{"internal"}, never: []string{gin, grpc, raft}},
		{folder: "server/shed", ours: []string{"internal"}, never: []string{"net/http", gin, grpc, raft}},
		{folder: "server/consensus", ours: []string{"internal"}, never: []string{"net/http", gin, grpc}},
		{
			folder: "server/projection", ours: []string{"server/auth", "server/naming", "server/probe", "server/state", "internal"},
			never: []string{gin, grpc, raft},
		},
		{
			folder: "server/api", ours: []string{"server/auth", "server/consensus", "server/naming", "server/probe", "server/push", "server/shed", "server/state", "internal"},
			never: []string{grpc},
		},
	}
	// frontDoor are the folders that come in through autoconfig.
	frontDoor = []string{"autoconfig", "server", "examples"}
)

func TestImportsPointOneWay(t *testing.T) {
	graph := importsOf(t)
	for _, rule := range importRules {
		packages := 0
		for folder := range graph {
			if !within(folder, rule.folder) || withinAny(folder, rule.except) {
				continue
			}
			packages++
			for to, way := range reachable(graph, folder) {
				ours, isOurs := strings.CutPrefix(to, module+"/")
				if isOurs {
					require.True(t, within(ours, rule.folder) || withinAny(ours, rule.ours), "%s is not to know %s: %s", folder, ours, way)
				} else {
					require.False(t, withinAny(to, rule.never), "%s is not to know %s: %s", folder, to, way)
				}
			}
		}
		require.NotZero(t, packages, "there is nothing in %s", rule.folder)
	}
	for folder, imports := range graph {
		if !withinAny(folder, frontDoor) {
			require.False(t, slices.ContainsFunc(imports, func(to string) bool { return within(to, module+"/autoconfig") }),
				"%s comes in through the front door", folder)
		}
	}
}

// importsOf maps the folders of the module to what their packages import, tests left
// out.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	graph := map[string][]string{}
	apart := []string{"docs", "test", "tools"} // tests, and modules of their own
	require.NoError(t, filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		folder, _ := filepath.Rel("..", name)
		folder = filepath.ToSlash(folder)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (withinAny(folder, apart) || len(d.Name()) > 2 && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			graph[path.Dir(folder)] = append(graph[path.Dir(folder)], to)
		}
		return nil
	}))
	return graph
}

// reachable returns what a folder knows, with a way there.
func reachable(graph map[string][]string, folder string) map[string]string {
	ways := map[string]string{}
	var visit func(folder, way string)
	visit = func(folder, way string) {
		for _, to := range graph[folder] {
			if _, known := ways[to]; known {
				continue
			}
			ways[to] = way + " → " + strings.TrimPrefix(to, module+"/")
			if ours, isOurs := strings.CutPrefix(to, module+"/"); isOurs {
				visit(ours, ways[to])
			}
		}
	}
	visit(folder, folder)
	return ways
}

func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

func withinAny(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return within(name, folder) })
}
