package docs_test

import (
	"context"
	"io"
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

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/server"
)

// TestGuide_TheFleetOfTheFirstChapters runs the programs of the first two
// chapters and the gateway's as they stand there: calls by name reach both
// user-services, and only the one that stays once the other has left.
func TestGuide_TheFleetOfTheFirstChapters(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t)
	users, orders := buildShown(t, "user-service"), buildShown(t, "order-service")
	first, second := users.start(t, registry), users.start(t, registry)
	front := orders.start(t, registry)
	gate := buildShown(t, "gateway").start(t, registry)

	answered := func() string { return get(front.url() + "/orders/7") }
	from := regexp.MustCompile(`^\{"from":(\d+),"id":"7","name":"Ann"\}$`)
	seen := map[string]bool{}
	require.Eventually(t, func() bool {
		m := from.FindStringSubmatch(answered())
		if m != nil {
			seen[m[1]] = true
		}
		return len(seen) == 2
	}, patience, 20*time.Millisecond, "%v %s", seen, front.output)

	require.Regexp(t, from, get(gate.url()+"/order-service/orders/7"))
	require.Equal(t, "there is no such service here\n", get(gate.url()+"/report-service/"))

	second.stop(t)
	require.NotContains(t, get("http://"+registry+"/nacos/v1/ns/instance/list?serviceName=user-service"), second.port())
	for range 20 {
		require.Regexp(t, from, answered())
	}
	first.stop(t)
	require.Eventually(t, func() bool { return strings.Contains(answered(), "no instance available") },
		patience, 50*time.Millisecond, "%s", front.output)
	front.stop(t)
	gate.stop(t)
}

// shown is a program of the guide with its configuration.
type shown struct{ binary, config string }

// buildShown builds the program whose files the guide shows in a folder.
func buildShown(t *testing.T, folder string) shown {
	t.Helper()
	s := shown{binary: filepath.Join(t.TempDir(), folder), config: filepath.Join(t.TempDir(), "application.yaml")}
	for _, b := range blocks(t, "yaml") {
		if b.file() == folder+"/application.yaml" {
			require.NoError(t, os.WriteFile(s.config, []byte(b.text), 0o600))
		}
	}
	goOnShown(t, folder, "build", "-o", s.binary)
	return s
}

// goOnShown runs the go command on the program whose files the guide shows in a
// folder.
func goOnShown(t *testing.T, folder string, args ...string) {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	overlay := newOverlay(t)
	for _, b := range blocks(t, "go") {
		if name, ok := strings.CutPrefix(b.file(), folder+"/"); ok {
			overlay.add(filepath.Join(root, "zz_"+folder, name), b.text)
		}
	}
	args = append(slices.Insert(args, 1, overlay.flag()), "./zz_"+folder)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestGuide_TheTestsOfTheChapterOnTestingPass runs them with the program that they
// test.
func TestGuide_TheTestsOfTheChapterOnTestingPass(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "order-service.test")
	goOnShown(t, "order-service", "test", "-c", "-vet=off", "-o", binary)
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// start runs the program on a free port and waits until it serves, and is
// registered if it registers.
func (s shown) start(t *testing.T, registry string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.binary)
	cmd.Dir = filepath.Dir(s.config)
	cmd.Env = append(os.Environ(), "SERVER_PORT=0", "SERVER_ADDRESS=127.0.0.1",
		"CLOUD_NACOS_SERVER_ADDR="+registry, "CLOUD_NACOS_DISCOVERY_IP=127.0.0.1")
	p := &process{Cmd: cmd, output: new(testutil.Output)}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return s.up(p) }, patience, 20*time.Millisecond, "%s", p.output)
	return p
}

func (s shown) up(p *process) bool {
	text := p.output.String()
	config, err := os.ReadFile(s.config)
	silent := err == nil && strings.Contains(string(config), "register-enabled: false")
	return listensAt.MatchString(text) && (silent || strings.Contains(text, "msg=registered"))
}

type process struct {
	*exec.Cmd
	output *testutil.Output
}

var listensAt = regexp.MustCompile(`msg="web server listens" address=127\.0\.0\.1:(\d+)`)

func (p *process) port() string { return listensAt.FindStringSubmatch(p.output.String())[1] }

func (p *process) url() string { return "http://127.0.0.1:" + p.port() }

func (p *process) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), "%s", p.output)
}

// startRegistry runs a registry server in this process and returns its address.
func startRegistry(t *testing.T) string {
	t.Helper()
	app, err := autoconfig.New(server.Module, autoconfig.ConfigYAML(`
server: { address: 127.0.0.1, port: 0, lame-duck: 0s }
nacos: { storage: { in-memory: true } }
logging: { level: error }
`))
	require.NoError(t, err)
	require.NoError(t, app.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, app.Stop(context.Background())) })
	return app.Addr().String()
}

// patience is how long something may take that is certain to happen.
const patience = 2 * time.Minute

// get returns the body of an answer, or the error as text.
func get(url string) string {
	client := http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}
