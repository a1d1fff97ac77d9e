package autoconfig

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// reloadable is an application with a file, in the registry of a Nacos.
type reloadable struct {
	*App
	t        *testing.T
	nacos    *testutil.FakeNacos
	address  string
	file     string
	log      *logText
	balancer *loadbalance.LoadBalancer
	auto     *registry.AutoServiceRegistration
}

const updatePath = "/ns/instance"

// reloadWith starts it with quiet and more text in its file.
func reloadWith(t *testing.T, text string, opts ...fx.Option) *reloadable {
	t.Helper()
	r := &reloadable{t: t, nacos: testutil.NewFakeNacos(), file: filepath.Join(t.TempDir(), "application.yaml")}
	server := httptest.NewServer(r.nacos)
	t.Cleanup(server.Close)
	r.address = server.Listener.Addr().String()
	r.write(text)
	var log fx.Option
	log, r.log = logTo()
	r.App = start(t, append(opts, ConfigFile(r.file), log, Default("application.reload-on-change", false),
		Default("cloud.nacos.server-addr", r.address), fx.Populate(&r.balancer, &r.auto))...)
	r.nacos.ForgetRequests()
	return r
}

func (r *reloadable) write(text string) {
	r.t.Helper()
	base := quiet
	if strings.HasPrefix(text, "cloud.nacos.discovery.ip:") {
		base = strings.ReplaceAll(quiet, "cloud.nacos.discovery.ip: 127.0.0.1\n", "")
	}
	require.NoError(r.t, os.WriteFile(r.file+".new", []byte(base+text), 0o600))
	require.NoError(r.t, os.Rename(r.file+".new", r.file))
}

// reload rewrites the file and has it read again.
func (r *reloadable) reload(text string) error {
	r.t.Helper()
	r.write(text)
	return r.Reload(r.t.Context())
}

// calls are the changes that the registry was asked for, in order.
func (r *reloadable) calls() []string {
	var calls []string
	for _, q := range r.nacos.Requests("", updatePath) {
		calls = append(calls, q.Method)
	}
	return calls
}

func (r *reloadable) only(service string) testutil.FakeInstance {
	r.t.Helper()
	known := r.nacos.Instances("public", service)
	require.Len(r.t, known, 1)
	return known[0]
}

func TestReload_WhatTheRegistrationIsMadeOfIsOneUpdate(t *testing.T) {
	r := reloadWith(t, "")
	require.NoError(t, r.reload("cloud.nacos.discovery: {weight: 3, metadata: {Zone: b}, instance-enabled: false}\n"))
	require.Equal(t, []string{http.MethodPut}, r.calls(), "one update and no registration")
	got := r.only("DEFAULT_GROUP@@orders")
	require.InDelta(t, 3, got.Weight, 0)
	require.False(t, got.Enabled)
	require.Equal(t, map[string]string{"Zone": "b", "preserved.register.source": "ROLLCALL"}, got.Metadata)
	require.Contains(t, r.log.String(), `applied="cloud.nacos.discovery.weight, cloud.nacos.discovery.metadata, cloud.nacos.discovery.instance-enabled"`)

	require.NoError(t, r.reload("cloud.nacos.discovery: {weight: 3, metadata: {Zone: b}, instance-enabled: false}\n"))
	require.Len(t, r.calls(), 1, "nothing is different")
	require.Contains(t, r.log.String(), "nothing is different")
}

func TestReload_AnotherInstanceOrServiceIsRegisteredBeforeTheFormerIsTakenOut(t *testing.T) {
	for key, service := range map[string]string{
		"group: G": "G@@orders", "service: bills": "DEFAULT_GROUP@@bills", "cluster-name: C": "DEFAULT_GROUP@@orders",
		"ip: 127.0.0.2": "DEFAULT_GROUP@@orders", "port: 7000": "DEFAULT_GROUP@@orders",
	} {
		t.Run(key, func(t *testing.T) {
			r := reloadWith(t, "")
			before := r.auto.Registration()
			require.NoError(t, r.reload("cloud.nacos.discovery."+key+"\n"))
			require.Equal(t, []string{http.MethodPost, http.MethodDelete}, r.calls())
			require.NotEqual(t, before.Key(), r.auto.Registration().Key())
			require.Equal(t, r.auto.Registration().IP, r.only(service).IP)
			require.Equal(t, r.auto.Registration().Port, r.only(service).Port)
		})
	}
}

func TestReload_EveryKeyOfTheLoadBalancerWithoutARegistration(t *testing.T) {
	r := reloadWith(t, "")
	require.NoError(t, r.reload(`
cloud.loadbalancer:
  algorithm: round-robin
  outlier.enabled: true
  clients: { User-Service: { retry: { enabled: no }, http.response-timeout: 2s } }
`))
	require.Empty(t, r.calls())
	p := r.balancer.Properties()
	require.Equal(t, loadbalance.PolicyRoundRobin, p.Algorithm)
	require.True(t, p.Outlier.Enabled)
	user, err := p.For(registry.ServiceID{Name: "user-service"})
	require.NoError(t, err)
	require.False(t, user.Retry.Enabled)
	require.Equal(t, 2*time.Second, user.HTTP.ResponseTimeout)
	require.True(t, p.Retry.Enabled)
}

func TestReload_ABrokenFileChangesNothingAndSaysWhy(t *testing.T) {
	r := reloadWith(t, "")
	var problems *ConfigError
	require.ErrorAs(t, r.reload("cloud.nacos.discovery: {weight: many, group: G}\ncloud.loadbalancer.subset.size: 0\n"), &problems)
	require.Len(t, problems.Problems, 2)
	require.Equal(t, 2, r.log.count("configuration not reloaded, nothing was changed"))
	require.Contains(t, r.log.String(), `cloud.nacos.discovery.weight: \"many\" must be a number`)
	require.ErrorContains(t, r.reload("cloud: ["), "application.yaml:")
	require.NoError(t, os.Remove(r.file))
	require.Error(t, r.Reload(t.Context()))
	require.Empty(t, r.calls())
	require.Equal(t, 100, r.balancer.Properties().Subset.Size)
}

func TestReload_WhatCannotChangeSaysSoInALineEach(t *testing.T) {
	var mail mailProperties
	r := reloadWith(t, "", Properties("app.mail", mailProperties{Host: "localhost"}), fx.Populate(&mail))
	require.NoError(t, r.reload("server.shutdown-timeout: 5s\napp.mail.host: example.com\ncloud.nacos.discovery.weight: 2\ncloud.loadbalancer.enabled: false\n"))
	for _, key := range []string{"server.shutdown-timeout", "app.mail.host", "cloud.loadbalancer.enabled"} {
		require.Equal(t, 1, r.log.count(`restart to apply it" key=`+key+"\n"), key)
	}
	require.InDelta(t, 2, r.only("DEFAULT_GROUP@@orders").Weight, 0, "what can change did")
	require.Equal(t, "localhost", mail.Host)
	require.Equal(t, map[string]any{"app.mail.host": "example.com", "cloud.loadbalancer.enabled": false, "server.shutdown-timeout": "5s"}, waiting(r))

	require.NoError(t, r.reload("cloud.nacos.discovery.weight: 2\n"))
	require.Empty(t, waiting(r), "as it was at the start")
}

func waiting(r *reloadable) map[string]any {
	shown := map[string]any{}
	for key, e := range r.reloader.pending() {
		shown[key] = e.Shown()
	}
	return shown
}

func TestReload_AChangeThatTheRegistryRefusesIsTriedAgainByTheNext(t *testing.T) {
	r := reloadWith(t, "", Property("cloud.nacos.discovery.naming-request-domain-max-retry-count", 1))
	r.nacos.SetFault(func(testutil.Request) *testutil.Fault { return &testutil.Fault{Status: http.StatusServiceUnavailable} })
	require.ErrorContains(t, r.reload("cloud.nacos.discovery.weight: 2\nlogging.levels.naming: off\n"), "reload the registration")
	require.Contains(t, r.log.String(), "not applied, the change failed or the part is off")
	r.nacos.SetFault(nil)
	require.NoError(t, r.Reload(t.Context()))
	require.InDelta(t, 2, r.only("DEFAULT_GROUP@@orders").Weight, 0)
}

func TestReload_TheLevelsOfTheLoggers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	require.NoError(t, os.WriteFile(file, []byte("logging: {level: warn, levels: {mine: error, naming: debug}}\n"), 0o600))
	var loggers *Loggers
	app := start(t, ConfigFile(file), fx.Populate(&loggers), Property("cloud.discovery.enabled", false),
		Property("server.port", -1), ownLogging)
	mine := loggers.Logger("mine")
	require.Equal(t, LoggerLevel{"ERROR", "ERROR"}, loggers.Levels()["mine"])
	require.NoError(t, os.WriteFile(file, []byte("logging: {level: error, levels: {naming: info}}\n"), 0o600))
	require.NoError(t, app.Reload(t.Context()))
	require.Equal(t, LoggerLevel{"", "ERROR"}, loggers.Levels()["mine"])
	require.Equal(t, LoggerLevel{"INFO", "INFO"}, loggers.Levels()["naming"])
	require.False(t, mine.Enabled(t.Context(), 4))
	require.True(t, mine.Enabled(t.Context(), 8))
}

// ownLogging takes the test's logger away, which the block logging has no say in.
var ownLogging = newBootOption("", func(b *boot) { b.logger = nil })

func TestReload_OnlyWhileTheApplicationRuns(t *testing.T) {
	app := assembled(t, alone)
	require.ErrorContains(t, app.Reload(t.Context()), "does not run")
	require.NoError(t, app.Start(t.Context()))
	require.NoError(t, app.Reload(t.Context()))
	stop(t, app)
	require.ErrorContains(t, app.Reload(t.Context()), "does not run")
}

func TestReload_WhenTheFileChanged(t *testing.T) {
	r := reloadWith(t, "", Property("application.reload-on-change", true))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(r.file), "other.txt"), []byte("x"), 0o600))
	r.write("cloud.nacos.discovery.weight: 4\n")
	require.Eventually(t, func() bool {
		known := r.nacos.Instances("public", "DEFAULT_GROUP@@orders")
		return len(known) == 1 && known[0].Weight == 4
	}, patience, 10*time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains(r.log.String(), `why="the file changed"`) }, patience, 10*time.Millisecond)
}

// The file changes after it was read and before it is watched.
func TestReload_WhenTheFileChangedDuringTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	write := func(weight string) error {
		return os.WriteFile(file, []byte(quiet+"cloud.nacos.discovery.weight: "+weight+"\n"), 0o600)
	}
	require.NoError(t, write("1"))
	fake := newFakeRegistry()
	start(t, ConfigFile(file), Backend(fake), fx.Invoke(func(l fx.Lifecycle) { l.Append(fx.StartHook(func() error { return write("9") })) }))
	require.Eventually(t, func() bool { return fake.registered().Weight == 9 }, patience, 10*time.Millisecond)
}

// Kubernetes replaces a link to the folder that the file is in.
func TestReload_WhenALinkIsReplaced(t *testing.T) {
	dir := t.TempDir()
	for name, weight := range map[string]string{"one": "1", "two": "2"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "a.yaml"), []byte(quiet+"cloud.nacos.discovery.weight: "+weight+"\n"), 0o600))
	}
	require.NoError(t, os.Symlink("one", filepath.Join(dir, "data")))
	require.NoError(t, os.Symlink(filepath.Join("data", "a.yaml"), filepath.Join(dir, "a.yaml")))
	fake := newFakeRegistry()
	start(t, ConfigFile(filepath.Join(dir, "a.yaml")), Backend(fake))
	require.InDelta(t, 1, fake.registered().Weight, 0)
	require.NoError(t, os.Symlink("two", filepath.Join(dir, "new")))
	require.NoError(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "data")))
	require.Eventually(t, func() bool { return fake.registered().Weight == 2 }, patience, 10*time.Millisecond)
}

// Whoever writes the file and sends SIGHUP is told once what came of it.
func TestReload_WhatWasReadOnRequestIsNoChange(t *testing.T) {
	r := reloadWith(t, "", Property("application.reload-on-change", true))
	for _, text := range []string{"server.shutdown-timeout: 5s\n", "cloud: ["} {
		err := r.reload(text)
		require.Equal(t, text == "cloud: [", err != nil)
		content, err := os.ReadFile(r.file)
		require.NoError(t, err)
		require.True(t, r.reloader.seen(content), "the watch does not have it read again")
	}
	require.False(t, r.reloader.seen([]byte("else")))
}

// Who sends SIGHUP right after writing the file, while the registry is away, has the
// change made as well when it is back.
func TestReload_WhatCouldNotBeMadeOnRequestIsLeftToTheWatch(t *testing.T) {
	r := reloadWith(t, "", Property("application.reload-on-change", true))
	r.nacos.SetFault(testutil.Always(testutil.Fault{Status: http.StatusServiceUnavailable}))
	require.Error(t, r.reload("cloud.nacos.discovery.weight: 4\n"))
	r.nacos.SetFault(nil)
	require.Eventually(t, func() bool {
		known := r.nacos.Instances("public", "DEFAULT_GROUP@@orders")
		return len(known) == 1 && known[0].Weight == 4
	}, patience, 10*time.Millisecond)
}

// A file that was found by a search and is gone does not make everything a default.
func TestReload_AFileThatIsGone(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("application.yml", []byte(quiet+"application.reload-on-change: false\n"), 0o600))
	app := start(t, Default("application.name", "orders"), Backend(newFakeRegistry()))
	require.NoError(t, app.Reload(t.Context()))
	require.NoError(t, os.Remove("application.yml"))
	require.EqualError(t, app.Reload(t.Context()), "read the configuration: application.yml is gone")
}

func TestReload_BySIGHUP(t *testing.T) {
	s := tell(t, "reload")
	s.signalWhen(t, "registered", syscall.SIGHUP)
	s.signalWhen(t, "nothing is different", syscall.SIGTERM)
	require.Zero(t, s.exitCode(), s.output)
	require.Contains(t, s.output.String(), "why=SIGHUP")
}

func TestReload_EveryKeyHasItsWay(t *testing.T) {
	var b boot
	s := settingsOf(&b)
	_, loaded, err := (&boot{}).read()
	require.NoError(t, err)
	known := map[string]bool{}
	for _, e := range loaded.Effective() {
		known[e.Key] = true
		if strings.HasPrefix(e.Key, "cloud.loadbalancer.") && e.Key != "cloud.loadbalancer.enabled" {
			require.Equal(t, changeBalancer.name, changeOf(e.Key).name, e.Key)
		}
	}
	for _, key := range append(append([]string{"logging.level", "logging.levels", "cloud.nacos.server-addr"}, registrationKeys...), addressKeys...) {
		require.True(t, known[key], "%s is no key", key)
		require.NotEmpty(t, changeOf(key).name, key)
	}
	require.NotNil(t, s)
}
