package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/server"
)

// stopTimeout bounds the stop of one application.
const stopTimeout = 10 * time.Second

// fleet is everything that the story starts.
type fleet struct {
	verbose  bool
	registry *app
	users    []*app
	child    *process
	order    *app
}

// app is one application inside this process.
type app struct {
	name string
	*autoconfig.App
}

func (a *app) url() string { return "http://" + a.Addr().String() }

// stop ends the application once; a second call does nothing.
func (a *app) stop() error {
	if a == nil || a.App == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	running := a.App
	a.App = nil
	return running.Stop(ctx)
}

// startAll starts the registry and then everybody who registers with it.
func (f *fleet) startAll(ctx context.Context) error {
	var err error
	if f.registry, err = startApp(ctx, "registry", registryConfig(f.verbose), server.Module); err != nil {
		return err
	}
	f.users = nil
	for _, name := range []string{"ann", "bob"} {
		user, err := startApp(ctx, name, appConfig("user-service", f.registryAddr(), f.verbose),
			fx.Supply(instanceName(name)), fx.Invoke(userRoutes))
		if err != nil {
			return err
		}
		f.users = append(f.users, user)
	}
	if f.child, err = startChild(f.registryAddr(), f.verbose); err != nil {
		return err
	}
	f.order, err = startApp(ctx, "order", appConfig("order-service", f.registryAddr(), f.verbose),
		fx.Invoke(orderRoutes))
	return err
}

// stopAll ends what is still running, callers first.
func (f *fleet) stopAll() {
	for _, a := range append([]*app{f.order}, f.users...) {
		if err := a.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping:", err)
		}
	}
	f.child.terminate()
	if err := f.registry.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping:", err)
	}
}

func (f *fleet) registryAddr() string { return f.registry.Addr().String() }
func (f *fleet) registryURL() string  { return f.registry.url() + "/nacos" }

// startApp builds and starts one application from its own configuration.
func startApp(ctx context.Context, name, config string, opts ...fx.Option) (*app, error) {
	built, err := autoconfig.New(append([]fx.Option{autoconfig.ConfigYAML(config)}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := built.Start(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &app{name: name, App: built}, nil
}

// registryConfig is the registry server's application.yaml.
func registryConfig(verbose bool) string {
	return fmt.Sprintf(`
application: { name: registry }
server: { address: 127.0.0.1, port: 0, shutdown-timeout: 2s }
logging: { level: %s }
`, level(verbose))
}

// appConfig is what stands in an application's application.yaml. The beat
// settings are short so that the story is; the usual ones are 5, 15 and 30 s.
func appConfig(name, registry string, verbose bool) string {
	return fmt.Sprintf(`
application: { name: %s }
server: { address: 127.0.0.1, port: 0, shutdown-timeout: 2s }
logging: { level: %s }
management: { endpoints: { exposure: [health, prometheus] } }
cloud:
  nacos:
    server-addr: %s
    discovery:
      ip: 127.0.0.1
      heart-beat-interval: 1000
      heart-beat-timeout: 3000
      ip-delete-timeout: 6000
`, name, level(verbose), registry)
}

func level(verbose bool) string {
	if verbose {
		return "info"
	}
	return "error"
}

// instanceName tells the instances of user-service apart.
type instanceName string

func userRoutes(engine *gin.Engine, name instanceName) {
	engine.GET("/users/:id", func(c *gin.Context) {
		c.JSON(http.StatusOK, gin.H{"id": c.Param("id"), "servedBy": name})
	})
}

// orderRoutes calls user-service by name: the client finds an instance, spreads
// the calls, and goes to another instance when one refuses the connection.
func orderRoutes(engine *gin.Engine, client *loadbalance.HTTPClient) {
	engine.GET("/orders/:id", func(c *gin.Context) {
		req, err := http.NewRequestWithContext(c.Request.Context(), http.MethodGet, "http://user-service/users/42", nil)
		if err != nil {
			c.String(http.StatusInternalServerError, err.Error())
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			c.String(http.StatusBadGateway, err.Error())
			return
		}
		defer resp.Body.Close()
		c.DataFromReader(resp.StatusCode, resp.ContentLength, resp.Header.Get("Content-Type"), resp.Body, nil)
	})
}

// process is the user-service in a process of its own. It lives no longer than
// this one: at the end of its standard input it leaves.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func startChild(registry string, verbose bool) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--child", registry}
	if verbose {
		args = append(args, "--verbose")
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting user-service in a process of its own: %w", err)
	}
	return &process{cmd: cmd, stdin: stdin}, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process as a crash does: no signal handler, no goodbye.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	_ = p.cmd.Wait() // reports the kill
	return err
}

// terminate asks the process to leave and waits; one that has ended is left be.
func (p *process) terminate() {
	if p == nil || p.cmd.ProcessState != nil {
		return
	}
	_ = p.stdin.Close() // one that has ended has closed it
	timer := time.AfterFunc(stopTimeout, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait() // a late one is killed by the timer
}

// runChild is the child process: one more user-service.
func runChild(ctx context.Context, registry string, verbose bool) error {
	carl, err := startApp(ctx, "carl", appConfig("user-service", registry, verbose),
		fx.Supply(instanceName("carl")), fx.Invoke(userRoutes))
	if err != nil {
		return err
	}
	orphaned := make(chan struct{})
	go func() { // ends with the process
		defer close(orphaned)
		_, _ = io.Copy(io.Discard, os.Stdin) // however it ends, it has
	}()
	select {
	case <-ctx.Done():
	case <-orphaned:
	}
	return carl.stop()
}
