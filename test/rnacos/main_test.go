package rnacos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the folder of the module under test.
const root = "../.."

// rnacos is the binary and what it says its version is; without a binary, absent
// says why the tests are skipped.
var rnacos struct{ binary, version, absent string }

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if err := find(); err != nil {
		return fail(err)
	}
	code := m.Run()
	if os.Getenv("ROLLCALL_WRITE_DOCS") == "1" && rnacos.absent == "" {
		if err := report.write(filepath.Join(root, "docs", "peers.md")); err != nil {
			return fail(err)
		}
	}
	return code
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// find looks for the binary where tools/install-rnacos.sh puts it, or where
// ROLLCALL_RNACOS says it is.
func find() error {
	binary := os.Getenv("ROLLCALL_RNACOS")
	if binary == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		binary = filepath.Join(cache, "rollcall", "rnacos", "bin", "rnacos")
		if _, err := os.Stat(binary); err != nil {
			rnacos.absent = "r-nacos is not installed; tools/install-rnacos.sh builds it, once"
			return nil
		}
	}
	output, err := exec.Command(binary, "--version").Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", binary, err)
	}
	_, version, _ := strings.Cut(strings.TrimSpace(string(output)), " ")
	rnacos.binary, rnacos.version = binary, version
	return nil
}
