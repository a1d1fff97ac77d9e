// Package examples_test compiles and runs every example as a reader would.
package examples_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/server"
)

// patience is how long something may take that is certain to happen.
const patience = 2 * time.Minute

// build compiles an example once for the test.
func build(t *testing.T, name string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./"+name).CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// startRegistry runs a registry server in this process and returns its address.
func startRegistry(t *testing.T) string {
	t.Helper()
	app, err := autoconfig.New(server.Module, autoconfig.ConfigYAML(`
server: { address: 127.0.0.1, port: 0 }
logging: { level: error }
nacos: { storage: { in-memory: true }, lame-duck: 0s }
`))
	require.NoError(t, err)
	require.NoError(t, app.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, app.Stop(context.Background())) })
	return app.Addr().String()
}

func TestQuickstart_TheStoryHolds(t *testing.T) {
	t.Parallel()
	// It bounds itself.
	out, err := exec.CommandContext(t.Context(), build(t, "quickstart"), "--once").CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "The story held")
}

func TestQuickstart_ServesUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), build(t, "quickstart"))
	out := new(testutil.Output)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "The fleet runs again") },
		patience, 50*time.Millisecond, "%s", out)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Wait(), "%s", out)
}

func TestQuickstart_InterruptedStoryDidNotHold(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), build(t, "quickstart"), "--once")
	out := new(testutil.Output)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "leaves politely") },
		patience, 20*time.Millisecond, "%s", out)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait())
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Contains(t, out.String(), "interrupted")
}

func TestPlain_RegistersCallsAndLeaves(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t)
	out, err := exec.CommandContext(t.Context(), build(t, "plain"), "--registry", registry).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), `GET http://plain/ answered "hello from 127.0.0.1:`)
}

func TestPlain_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), build(t, "plain"), "--registry", "127.0.0.1:1").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "127.0.0.1:1")
	require.Contains(t, string(out), "connection refused")
}

func TestGreeter_CallsItselfByName(t *testing.T) {
	t.Parallel()
	url := start(t, "greeter", startRegistry(t))
	require.Eventually(t, func() bool { return get(url+"/meet/greeter") == "hello\n" },
		patience, 50*time.Millisecond, "%s", get(url+"/meet/greeter"))
	require.Contains(t, get(url+"/meet/nobody"), "nobody")
}

var listening = regexp.MustCompile(`web server listens.*(127\.0\.0\.1:\d+)`)

// start runs an example in its folder against a registry until the end of the
// test, and returns the URL of its web server.
func start(t *testing.T, name, registry string) string {
	t.Helper()
	binary := build(t, name)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary) // which ends before the clean-up
	cmd.Dir = name
	cmd.Env = append(os.Environ(), "SERVER_PORT=0", "SERVER_ADDRESS=127.0.0.1",
		"CLOUD_NACOS_SERVER_ADDR="+registry, "CLOUD_NACOS_DISCOVERY_IP=127.0.0.1")
	out := new(testutil.Output)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), "%s", out)
	})
	var at []string
	require.Eventually(t, func() bool {
		at = listening.FindStringSubmatch(out.String())
		return at != nil
	}, patience, 20*time.Millisecond, "%s", out)
	return "http://" + at[1]
}

func TestGRPC_IsCalledByName(t *testing.T) {
	t.Parallel()
	url := start(t, "grpc", startRegistry(t))
	require.Eventually(t, func() bool { return get(url+"/greet/Ann") == "hello Ann\n" },
		patience, 50*time.Millisecond, "%s", get(url+"/greet/Ann"))
}

func TestGateway_LeadsToTheGreeterAndNowhereElse(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t)
	start(t, "greeter", registry)
	url := start(t, "gateway", registry)
	require.Eventually(t, func() bool { return get(url+"/greeter/hello") == "hello\n" },
		patience, 50*time.Millisecond, "%s", get(url+"/greeter/hello"))
	require.Equal(t, "there is no such service here\n", get(url+"/elsewhere/hello"))
	require.Contains(t, get(url+"/actuator/health"), "UP", "the application's own routes come first")
}

func get(url string) string {
	client := http.Client{Timeout: patience}
	resp, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text := new(strings.Builder)
	if err := resp.Write(text); err != nil {
		return err.Error()
	}
	_, body, _ := strings.Cut(text.String(), "\r\n\r\n")
	return body
}
