package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/internal/process"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// maria is what persistent instances of databases are probed with.
var maria = client{name: "MariaDB (health checker MYSQL)", version: "Debian's"}

// Whom probes log in as.
const (
	mariaUser     = "probe"
	mariaPassword = "a right password"
)

// mariaDB is a real database on a port of 127.0.0.1, with its data in a
// directory of the test.
type mariaDB struct {
	*process.Process
	port int
	dir  string
}

// programs of MariaDB; the server lies outside the search path of a normal user.
const (
	mariaInstall = "mariadb-install-db"
	mariaServer  = "/usr/sbin/mariadbd"
	mariaClient  = "mariadb"
)

func needMariaDB() error {
	for _, program := range []string{mariaInstall, mariaServer, mariaClient} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("there is no MariaDB: %w", err)
		}
	}
	return nil
}

// newMariaDB makes the data of a database that is not running yet.
func newMariaDB(t *testing.T) *mariaDB {
	t.Helper()
	// The path of a socket is short, and a test's directory may not be.
	dir, err := os.MkdirTemp(scratch, "maria-")
	require.NoError(t, err)
	d := &mariaDB{port: testserver.FreePort(t), dir: dir}
	users := fmt.Sprintf("CREATE OR REPLACE USER '%s'@'127.0.0.1' IDENTIFIED BY '%s';\n", mariaUser, mariaPassword)
	require.NoError(t, os.WriteFile(d.path("init.sql"), []byte(users), 0o600))
	install := exec.Command(mariaInstall, append([]string{
		"--no-defaults", "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve", "--datadir=" + d.path("data"),
	}, d.asRoot()...)...)
	output, err := install.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return d
}

// asRoot is needed where the tests run as root, which MariaDB minds.
func (d *mariaDB) asRoot() []string {
	if os.Getuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func (d *mariaDB) path(name string) string { return filepath.Join(d.dir, name) }

// start runs the database and returns when it takes commands.
func (d *mariaDB) start(t *testing.T) {
	t.Helper()
	args := append([]string{"--no-defaults"}, d.asRoot()...)
	d.Process = process.Start(t, "MariaDB", exec.Command(mariaServer, append(args,
		"--datadir="+d.path("data"), "--socket="+d.path("socket"), "--pid-file="+d.path("pid"),
		"--bind-address=127.0.0.1", "--port="+strconv.Itoa(d.port), "--skip-name-resolve",
		"--init-file="+d.path("init.sql"), "--innodb-buffer-pool-size=8M", "--performance-schema=off")...))
	poll.Until(t, 2*time.Minute, func() error { return d.do("SELECT 1") })
}

// run has the database carry out a command as its administrator.
func (d *mariaDB) run(t *testing.T, command string) {
	t.Helper()
	require.NoError(t, d.do(command))
}

func (d *mariaDB) do(command string) error {
	client := exec.Command(mariaClient, "--no-defaults", "--user=root", "--socket="+d.path("socket"), "--execute="+command)
	if output, err := client.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, output)
	}
	return nil
}
