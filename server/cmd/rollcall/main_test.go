package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// The tests run this test binary as if it were rollcall: the scripts by its name,
// the others by a variable.
const asRollcall = "TEST_RUN_AS_ROLLCALL"

// soon is how long a test waits for what must come, on a machine that has much else
// to do.
const soon = time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(asRollcall) != "" {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"rollcall": patient})
}

// patient is rollcall whose requests have the time that a busy machine needs.
func patient() {
	if len(os.Args) > 1 && os.Args[1] != "__complete" {
		os.Args = slices.Insert(os.Args, 1, "--timeout="+soon.String())
	}
	main()
}

func command(t *testing.T, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	stderr = &bytes.Buffer{}
	cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asRollcall+"=1")
	cmd.Stderr = stderr
	cmd.Dir = t.TempDir()
	return cmd, stderr
}

// run executes rollcall to its end.
func execute(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd, errs := command(t, args...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return cmd.ProcessState.ExitCode(), string(out), errs.String()
}

// serve starts rollcall on a free port and returns its URL.
func serve(t *testing.T, args ...string) (cmd *exec.Cmd, url string) {
	t.Helper()
	cmd, _ = command(t, append([]string{"--port", "0", "--address", "127.0.0.1"}, args...)...)
	cmd.Stderr = nil
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	found := make(chan string, 1)
	go func() { // ends with the process, whose standard error it reads
		serves := regexp.MustCompile(`msg="registry serves" url=(\S+)`)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			if m := serves.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			}
		}
	}()
	select {
	case url = <-found:
	case <-time.After(soon):
		_ = cmd.Process.Kill()
		t.Fatal("rollcall does not say that it serves")
	}
	return cmd, url
}

func TestRollcall_ServesUntilASignal(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			cmd, url := serve(t)
			resp, err := http.Post(url+"/v1/ns/instance?serviceName=s&ip=192.0.2.7&port=80", "", nil)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 200, resp.StatusCode)
			require.NoError(t, cmd.Process.Signal(signal))
			require.NoError(t, cmd.Wait(), "exit code 0")
		})
	}
}

// TestSB24_ASecondSignalCutsTheLameDuck: the first one lets it answer on, as not
// ready, and the second one ends that.
func TestSB24_ASecondSignalCutsTheLameDuck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.yaml")
	require.NoError(t, os.WriteFile(file, []byte("server: {lame-duck: 5m}\n"), 0o600))
	cmd, url := serve(t, "--config", file)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: soon}
	readiness := func() int {
		resp, err := client.Get(url + "/v1/console/health/readiness")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, http.StatusOK, readiness())
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	for deadline := time.Now().Add(soon); readiness() != http.StatusServiceUnavailable; {
		require.True(t, time.Now().Before(deadline), "the readiness is never gone")
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait(), "exit code 0")
}

// TestSB23_AFullPipeHoldsUpNeitherServiceNorStop: nobody reads the log, and there is
// no room in it.
func TestSB23_AFullPipeHoldsUpNeitherServiceNorStop(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd, _ := command(t, "--port", "0", "--address", "127.0.0.1", "--in-memory")
	cmd.Stderr = w
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	url := ""
	serves := regexp.MustCompile(`msg="registry serves" url=(\S+)`)
	for lines := bufio.NewScanner(r); url == "" && lines.Scan(); {
		if m := serves.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	require.NotEmpty(t, url)
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		for err := error(nil); err == nil; { // waits for ever, and takes all room there is
			_, err = w.Write(make([]byte, 4096))
		}
	}()

	client := &http.Client{Timeout: soon}
	defer client.CloseIdleConnections()
	for i := range 200 {
		resp, err := client.Post(fmt.Sprintf("%s/v1/ns/instance?serviceName=s%d&ip=192.0.2.7&port=80&metadata=preserved.heart.beat.interval%%3Dodd", url, i), "", nil)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.NoError(t, cmd.Process.Signal(syscall.SIGHUP)) // has a line for each, too
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		require.NoError(t, err, "exit code 0")
	case <-time.After(soon):
		t.Error("the log holds up the stop")
	}
	require.NoError(t, r.Close())
	<-filled
	require.NoError(t, w.Close())
}

func TestRollcall_PortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	code, _, stderr := execute(t, "--address", "127.0.0.1", "--port", fmt.Sprint(port))
	require.Equal(t, 1, code)
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	require.Contains(t, lines[len(lines)-1], "address already in use; stop whoever listens there or choose another port with --port")
	require.NotContains(t, stderr, "registry serves")
}

func TestRollcall_Mistakes(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("server: {port: many}\nnacos: {push: {address: here}}\n"), 0o600))
	tests := []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"--nothing"}, 2, []string{"rollcall: unknown flag: --nothing", "See rollcall --help."}},
		{[]string{"--port", "x"}, 2, []string{"rollcall: invalid argument"}},
		{[]string{"start"}, 2, []string{`rollcall: unknown command "start"`, "See rollcall --help."}},
		{[]string{"servces"}, 2, []string{`rollcall: unknown command "servces"; did you mean server or services?`}},
		{[]string{"server", "x"}, 2, []string{`rollcall: unexpected argument "x"`, "See rollcall server --help."}},
		{[]string{"user", "create", "--nothing"}, 2, []string{"rollcall: unknown flag: --nothing", "See rollcall user create --help."}},
		{[]string{"user"}, 2, []string{"rollcall: user what? create, delete, grant, list, password, revoke, show\nSee rollcall user --help."}},
		{[]string{"config"}, 2, []string{"rollcall: config what? check, show\nSee rollcall config --help."}},
		{[]string{"watch"}, 2, []string{"rollcall: SERVICE is missing\nSee rollcall watch --help."}},
		{[]string{"services", "--nothing"}, 2, []string{"rollcall: unknown flag: --nothing\nSee rollcall services --help."}},
		{[]string{"--data-dir", "x", "--in-memory"}, 2, []string{"rollcall: --in-memory and --data-dir exclude each other"}},
		{[]string{"--port", "99999"}, 1, []string{`rollcall: server.port: "99999" `, "(--port)"}},
		{[]string{"--config", "none.yaml"}, 1, []string{"rollcall: read the configuration: open none.yaml"}},
		{[]string{"--config", bad}, 1, []string{"rollcall: server.port", "rollcall: nacos.push.address"}},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			code, stdout, stderr := execute(t, test.args...)
			require.Equal(t, test.code, code)
			require.Empty(t, stdout)
			for _, want := range test.want {
				require.Contains(t, stderr, want)
			}
			require.NotContains(t, stderr, "goroutine")
		})
	}
}

func TestRollcall_HelpAndVersion(t *testing.T) {
	code, stdout, stderr := execute(t, "--help")
	require.Zero(t, code)
	require.Empty(t, stderr)
	for _, flag := range []string{"--port", "--address", "--config", "--data-dir", "--in-memory", "--server", "--output", "--version", "--help", "services", "Exit codes"} {
		require.Contains(t, stdout, flag)
	}
	code, stdout, _ = execute(t, "--version")
	require.Zero(t, code)
	require.Regexp(t, `^rollcall \S+`, stdout)
}

func TestRollcall_DoesNotReadAnApplicationsFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "application.yaml"), []byte("server: {port: nonsense}\n"), 0o600))
	cmd, _ := command(t, "--port", "0", "--address", "127.0.0.1", "--config", "")
	cmd.Dir = dir
	cmd.Stderr = nil
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	served := false
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		if strings.Contains(lines.Text(), "registry serves") {
			served = true
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		}
	}
	require.NoError(t, cmd.Wait())
	require.True(t, served)
}

func TestRollcall_ConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.yaml")
	require.NoError(t, os.WriteFile(file, []byte("server: {context-path: /registry}\n"), 0o600))
	cmd, url := serve(t, "--config", file)
	require.True(t, strings.HasSuffix(url, "/registry"), url)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}
