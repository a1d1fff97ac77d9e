package autoconfig

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		childMain()
		return
	}
	goleak.VerifyTestMain(m)
}

// journal is what happened, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

func (j *journal) has(line string) bool { return slices.Contains(j.all(), line) }

// fakeRegistry writes the calls it gets into a journal and fails on demand.
type fakeRegistry struct {
	*journal
	mu   sync.Mutex
	fail func() error
	last registry.Registration
}

func newFakeRegistry() *fakeRegistry { return &fakeRegistry{journal: &journal{}} }

func (f *fakeRegistry) failWith(fail func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *fakeRegistry) registered() registry.Registration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *fakeRegistry) call(name string, r registry.Registration) error {
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	if fail != nil {
		if err := fail(); err != nil {
			f.add(name + " failed")
			return err
		}
	}
	f.mu.Lock()
	f.last = r
	f.mu.Unlock()
	f.add(name)
	return nil
}

func (f *fakeRegistry) Register(_ context.Context, r registry.Registration) error {
	return f.call("register", r)
}

func (f *fakeRegistry) Deregister(_ context.Context, r registry.Registration) error {
	return f.call("deregister", r)
}

func (f *fakeRegistry) SetStatus(context.Context, registry.Registration, registry.Status) error {
	return nil
}

func (f *fakeRegistry) Status(context.Context, registry.Registration) (registry.Status, error) {
	return registry.StatusUp, nil
}

func (f *fakeRegistry) Close() error { return nil }

// quiet is a configuration that needs no network: a name, a free port on the
// loopback interface, an explicit address.
const quiet = `
application.name: orders
server: { address: 127.0.0.1, port: 0 }
cloud.nacos.discovery.ip: 127.0.0.1
`

// alone switches everything off that needs a registry.
var alone = Options(ConfigYAML(quiet), Property("cloud.discovery.enabled", false))

// unhurried gives answers the time that a busy machine may need.
var unhurried = Options(
	Default("cloud.nacos.discovery.connect-timeout", patience), Default("cloud.nacos.discovery.request-timeout", patience),
	Default("cloud.nacos.discovery.first-fetch-timeout", patience), Default("cloud.loadbalancer.http.connect-timeout", patience))

// assembled is an application whose log is discarded.
func assembled(t *testing.T, opts ...fx.Option) *App {
	t.Helper()
	app, err := New(append([]fx.Option{Logger(slog.New(slog.DiscardHandler)), unhurried}, opts...)...)
	require.NoError(t, err)
	return app
}

// start starts an application and stops it when the test ends, unless the test
// did.
func start(t *testing.T, opts ...fx.Option) *App {
	t.Helper()
	app := assembled(t, opts...)
	require.NoError(t, app.Start(t.Context()))
	t.Cleanup(func() { stop(t, app) })
	return app
}

func stop(t *testing.T, app *App) {
	t.Helper()
	require.NoError(t, <-stopping(app))
}

// stopping stops an application in the background.
func stopping(app *App) <-chan error {
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), app.StopTimeout())
		defer cancel()
		stopped <- app.Stop(ctx)
	}()
	return stopped
}

// inMemory is a listener for virtual time and a client for it.
func inMemory(t *testing.T) (fx.Option, *http.Client) {
	t.Helper()
	l := testutil.NewListener()
	return Listener(l), &http.Client{Transport: testutil.Transport(t, l.Dial)}
}

// patience is how long something may take that is certain to happen.
const patience = time.Minute

// get returns status and body of a GET to the application.
func get(t *testing.T, app *App, path string) (int, string) {
	t.Helper()
	return getWith(t, &http.Client{Timeout: patience}, "http://"+app.Addr().String()+path)
}

func getWith(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// logText is a log that can be read while it is written.
type logText struct{ testutil.Output }

func (l *logText) count(text string) int { return strings.Count(l.String(), text) }

// logTo logs everything to the returned text.
func logTo() (fx.Option, *logText) {
	text := &logText{}
	return Logger(slog.New(slog.NewTextHandler(text, &slog.HandlerOptions{Level: slog.LevelDebug}))), text
}
