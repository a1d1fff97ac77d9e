package autoconfig_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	discoverymemory "github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry/memory"
)

// A whole application: it registers itself when it is ready, and leaves when it
// is told to stop.
func ExampleRun() {
	routes := func(e *gin.Engine) {
		e.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
	}
	stopAtOnce := func(lc fx.Lifecycle, s fx.Shutdowner) { // only so that the example ends
		lc.Append(fx.StartHook(func() error { return s.Shutdown() }))
	}
	autoconfig.Run(
		autoconfig.ConfigYAML(`
server: { address: 127.0.0.1, port: 0 }
cloud: { discovery: { enabled: false } }   # no registry in this example
`),
		autoconfig.Logger(slog.New(slog.DiscardHandler)),
		fx.Invoke(routes, stopAtOnce),
	)
	fmt.Println("stopped")
	// Output: stopped
}

// Two applications in one process: one calls the other by its name, over a
// registry in memory.
func ExampleNew() {
	registry := memory.New()
	defer registry.Close()
	app := func(name string, opts ...fx.Option) *autoconfig.App {
		a, err := autoconfig.New(append(opts,
			autoconfig.ConfigYAML("server: { address: 127.0.0.1, port: 0 }\ncloud.nacos.discovery.ip: 127.0.0.1\n"),
			autoconfig.Property("application.name", name),
			autoconfig.Logger(slog.New(slog.DiscardHandler)),
			autoconfig.Backend(registry, discoverymemory.FromRegistry(registry)),
		)...)
		if err != nil {
			panic(err)
		}
		return a
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	users := app("user-service", fx.Invoke(func(e *gin.Engine) {
		e.GET("/users/:id", func(c *gin.Context) { c.String(http.StatusOK, "Ann, "+c.Param("id")) })
	}))
	var client *loadbalance.HTTPClient
	orders := app("order-service", fx.Populate(&client))
	for _, a := range []*autoconfig.App{users, orders} {
		if err := a.Start(ctx); err != nil {
			panic(err)
		}
		defer func() { _ = a.Stop(ctx) }()
	}

	resp, err := client.Get("http://user-service/users/42")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(string(body))
	// Output: Ann, 42
}

// A block of settings of the application's own follows the rules of all others:
// file, environment, placeholders, all mistakes at once.
func ExampleProperties() {
	type Mail struct {
		Host    string        // app.mail.host, APP_MAIL_HOST
		Timeout time.Duration // app.mail.timeout
	}
	_, err := autoconfig.New(
		autoconfig.ConfigYAML(`
cloud: { discovery: { enabled: false } }
app: { mail: { host: "smtp.${app.domain:example.com}" } }
`),
		autoconfig.Properties("app.mail", Mail{Host: "localhost", Timeout: 5 * time.Second}),
		autoconfig.Logger(slog.New(slog.DiscardHandler)),
		fx.Invoke(func(m Mail) { fmt.Println(m.Host, m.Timeout) }),
	)
	fmt.Println(err)
	// Output:
	// smtp.example.com 5s
	// <nil>
}

// What follows the configuration takes the block as a Live: Load is what is in
// effect now, and OnChange tells of each reload that changed it.
func ExampleLive() {
	type Limits struct{ PerMinute int } // app.limits.per-minute
	dir, err := os.MkdirTemp("", "live")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "application.yaml")
	write := func(perMinute int) {
		text := fmt.Sprintf("cloud.discovery.enabled: false\nserver.port: -1\napp.limits.per-minute: %d\n", perMinute)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	write(100)
	app, err := autoconfig.New(
		autoconfig.ConfigFile(file),
		autoconfig.Properties("app.limits", Limits{PerMinute: 60}),
		autoconfig.Logger(slog.New(slog.DiscardHandler)),
		fx.Invoke(func(limits *autoconfig.Live[Limits]) {
			fmt.Println("started with", limits.Load().PerMinute)
			limits.OnChange(func(before, now Limits) { fmt.Println("was", before.PerMinute, "is", now.PerMinute) })
		}),
	)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if err := app.Start(ctx); err != nil {
		panic(err)
	}
	defer func() { _ = app.Stop(ctx) }()
	write(200)
	fmt.Println(app.Reload(ctx)) // or SIGHUP, or the change of the file alone
	// Output:
	// started with 100
	// was 100 is 200
	// <nil>
}

// Listeners of the application's events run in order, and their errors come back
// to whoever published.
func ExampleSubscribe() {
	type OrderPlaced struct{ ID int }
	bus := autoconfig.NewEventBus()
	cancel := autoconfig.Subscribe(bus, func(_ context.Context, e OrderPlaced) error {
		fmt.Println("placed", e.ID)
		return nil
	})
	defer cancel()
	fmt.Println(bus.Publish(context.Background(), OrderPlaced{ID: 7}))
	// Output:
	// placed 7
	// <nil>
}
