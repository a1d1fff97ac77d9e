package interop

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nacos-group/nacos-sdk-go/util"

	"github.com/rollcall-go/rollcall/test/testserver"
)

// root is the folder of the module under test.
const root = "../.."

// binaries are the paths of what TestMain built.
var binaries struct{ server, app string }

// scratch is a directory that outlives every test: the Go SDK writes to its
// cache for as long as this process runs.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	if err := waitTogether(); err != nil {
		return fail(err)
	}
	var err error
	if scratch, err = os.MkdirTemp("", "rollcall-interop-"); err != nil {
		return fail(err)
	}
	defer os.RemoveAll(scratch)

	if binaries.server, err = testserver.Build(root, scratch); err != nil {
		return fail(err)
	}
	if binaries.app, err = buildApp(scratch); err != nil {
		return fail(err)
	}
	// The Go SDK asks for pushes to the machine's first address that is not
	// loopback. No traffic leaves the loopback interface here, so every other
	// address is hidden from it, and the server pushes to 127.0.0.1.
	if err := util.SetFilterNetNumberAndMask("0.0.0.0/0"); err != nil {
		return fail(err)
	}

	code := m.Run()
	if os.Getenv("ROLLCALL_WRITE_DOCS") == "1" {
		if err := report.write(filepath.Join(root, "docs", "clients.md")); err != nil {
			return fail(err)
		}
	}
	return code
}

// waitTogether has more tests run at once than there are cores, unless the command
// line says how many: nearly all of them wait for a timeout most of the time.
func waitTogether() error {
	const tests = "test.parallel"
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == tests })
	if said {
		return nil
	}
	return flag.Set(tests, "8")
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// buildApp compiles the small app that uses our own client.
func buildApp(dir string) (string, error) {
	binary := filepath.Join(dir, "app")
	build := exec.Command("go", "build", "-o", binary, "github.com/rollcall-go/rollcall/test/cmd/app")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the app: %w\n%s", err, output)
	}
	return binary, nil
}
