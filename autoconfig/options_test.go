package autoconfig

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func TestOptions_HiddenInOptionsOfFxAreAnError(t *testing.T) {
	for name, hidden := range map[string]fx.Option{
		"Property":   fx.Options(Property("server.port", 0)),
		"ConfigYAML": fx.Module("mine", ConfigYAML("server.port: 0\n")),
		"Options":    fx.Options(Options(fx.Invoke(func() {}))),
	} {
		_, err := New(alone, hidden)
		require.ErrorContains(t, err, "autoconfig."+name+" has no effect inside fx.Options or fx.Module")
	}
}

func TestOptions_GroupBootOptionsAndOthers(t *testing.T) {
	called := false
	module := Options(Default("server.port", 0), Options(Property("server.address", "127.0.0.1")),
		fx.Invoke(func(s ServerProperties) { called = s.Port == 0 && s.Address == "127.0.0.1" }))
	assembled(t, module, Property("cloud.discovery.enabled", false))
	require.True(t, called)
}

func TestOptions_NilIsAnErrorAndNotAPanic(t *testing.T) {
	for _, o := range []fx.Option{Engine(nil), Listener(nil), Logger(nil)} {
		_, err := New(alone, o)
		require.ErrorContains(t, err, "is nil")
	}
}

type mailProperties struct {
	Host    string
	Retries int
	Pause   time.Duration
	Headers map[string]string
}

func (p *mailProperties) Validate() error {
	if p.Retries > 10 {
		return errors.New("retries: must be 10 or less")
	}
	return nil
}

func TestProperties_OfTheUsersOwn(t *testing.T) {
	defaults := mailProperties{Host: "localhost", Retries: 3, Pause: time.Second}
	block := Properties("app.mail", defaults)
	var got mailProperties
	t.Setenv("APP_MAIL_PAUSE", "250")
	assembled(t, alone, block, fx.Populate(&got),
		ConfigYAML("app: { mail: { headers: { X-Source: '${application.name:none}' } } }\nserver: {address: 127.0.0.1, port: 0}\n"))
	require.Equal(t, mailProperties{"localhost", 3, 250 * time.Millisecond, map[string]string{"X-Source": "none"}}, got)

	_, err := New(alone, block, Property("app.mail.retries", 11))
	require.EqualError(t, err, `app.mail.retries: "11" must be 10 or less (property)`)
	_, err = New(alone, block, PropertyFrom("--retries", "app.mail.retries", 11))
	require.EqualError(t, err, `app.mail.retries: "11" must be 10 or less (--retries)`)

	// The option may be used for more than one application.
	assembled(t, alone, block, fx.Populate(&got))
	require.Equal(t, 3, got.Retries)
}

// graph is what the graph holds, as an application would ask for it.
type graph struct {
	fx.In

	Engine     *gin.Engine
	Web        *WebServer                        `optional:"true"`
	Log        *slog.Logger                      `optional:"true"`
	Metrics    *prometheus.Registry              `optional:"true"`
	Registerer prometheus.Registerer             `optional:"true"`
	Gatherer   prometheus.Gatherer               `optional:"true"`
	Bus        *EventBus                         `optional:"true"`
	Publisher  registry.Publisher                `optional:"true"`
	Discovery  *discovery.Client                 `optional:"true"`
	Balancer   *loadbalance.LoadBalancer         `optional:"true"`
	HTTP       *loadbalance.HTTPClient           `optional:"true"`
	Registry   registry.ServiceRegistry          `optional:"true"`
	Auto       *registry.AutoServiceRegistration `optional:"true"`
}

func TestConditions_DecideWhatIsInTheGraph(t *testing.T) {
	type has struct{ web, discovery, balancer, registry, auto bool }
	for name, c := range map[string]struct {
		opts []fx.Option
		want has
	}{
		"everything":                {nil, has{true, true, true, true, true}},
		"cloud.discovery.enabled":   {[]fx.Option{Property("cloud.discovery.enabled", false)}, has{web: true}},
		"register-enabled":          {[]fx.Option{Property("cloud.nacos.discovery.register-enabled", false)}, has{true, true, true, true, false}},
		"auto-registration.enabled": {[]fx.Option{Property(auto+"enabled", false)}, has{true, true, true, true, false}},
		"nacos.discovery.enabled":   {[]fx.Option{Property("cloud.nacos.discovery.enabled", false)}, has{true, true, true, false, false}},
		"loadbalancer.enabled":      {[]fx.Option{Property("cloud.loadbalancer.enabled", false)}, has{true, true, false, true, true}},
		"server.port -1":            {[]fx.Option{Property("server.port", -1)}, has{false, true, true, true, true}},
		"a backend":                 {[]fx.Option{Backend(newFakeRegistry())}, has{true, true, true, true, true}},
		"a registry of the graph": {[]fx.Option{
			Property("cloud.nacos.discovery.enabled", false),
			fx.Provide(func() registry.ServiceRegistry { return newFakeRegistry() }),
		}, has{true, true, true, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			log, text := logTo()
			var g graph
			assembled(t, append(c.opts, ConfigYAML(quiet), log, fx.Invoke(func(in graph) { g = in }))...)
			require.Equal(t, c.want, has{g.Web != nil, g.Discovery != nil, g.Balancer != nil, g.Registry != nil, g.Auto != nil})
			require.Equal(t, c.want.balancer, g.HTTP != nil)
			require.NotNil(t, g.Log)
			require.Same(t, g.Metrics, g.Registerer)
			require.Same(t, g.Metrics, g.Gatherer)
			require.Same(t, g.Bus, g.Publisher)
			require.Equal(t, 6, text.count("msg=condition"), "the report")
		})
	}
}

func TestAutoRegistrationFailFast_MeansNothingToRegisterWith(t *testing.T) {
	_, err := New(ConfigYAML(quiet), Property(auto+"fail-fast", true), Property("cloud.nacos.discovery.enabled", false))
	require.ErrorContains(t, err, "there is no registry to register with")
	assembled(t, ConfigYAML(quiet), Property(auto+"fail-fast", true))
}

func TestLogger_TheUsersWins(t *testing.T) {
	text := &logText{}
	mine := slog.New(slog.NewTextHandler(text, nil))
	for name, o := range map[string]fx.Option{
		"option":   Logger(mine),
		"replace":  fx.Replace(mine),
		"decorate": fx.Decorate(func(*slog.Logger) *slog.Logger { return mine }),
	} {
		before := text.count("has no effect")
		_, err := New(alone, o, Property("cloud.nowhere", 1))
		require.NoError(t, err)
		require.Equal(t, before+1, text.count("has no effect"), name)
	}
}

func TestLogger_LevelAndFormat(t *testing.T) {
	text := &logText{}
	l := newLogger(LoggingProperties{Level: "WARN", Format: "json"}, text).Logger(loggerRoot)
	l.Info("unseen")
	l.Warn("seen")
	require.NotContains(t, text.String(), "unseen")
	require.Contains(t, text.String(), `"msg":"seen"`)
	_, err := New(alone, Property("logging.level", "loud"), Property("logging.format", "xml"))
	require.EqualError(t, err, "logging.level: \"loud\" must be debug, info, warn, error or off (property)\nlogging.format: \"xml\" must be text or json (property)")
}

func TestNew_LogsWhatWasReadAndWhatHasNoEffect(t *testing.T) {
	log, text := logTo()
	_, err := New(log, ConfigYAML(quiet+"cloud.nacos.discovery.server_adr: x\nmine: 1\n"), Property("cloud.discovery.enabled", false))
	require.NoError(t, err)
	require.Contains(t, text.String(), `msg="configuration read" from=ConfigYAML`)
	require.Contains(t, text.String(), "key=cloud.nacos.discovery.server_adr at=ConfigYAML:5 nearest=cloud.nacos.discovery.server-addr")
	require.Equal(t, 1, text.count("has no effect"))
}
