package autoconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
)

// childEnv names the story that this test binary tells when it runs as a program
// of its own: Run ends the process and listens to signals.
const childEnv = "ROLLCALL_TEST_STORY"

func childMain() {
	started := fx.Invoke(func(lc fx.Lifecycle, _ *WebServer) {
		lc.Append(fx.StartHook(func() { fmt.Println("started") }))
	})
	switch os.Getenv(childEnv) {
	case "serve":
		Run(ConfigYAML(quiet), Backend(newFakeRegistry()), started)
	case "reload":
		Run(ConfigYAML(quiet), Backend(newFakeRegistry()), started)
	case "drain":
		Run(ConfigYAML(quiet), Backend(newFakeRegistry()), started, Property("cloud.service-registry.auto-registration.drain", "1h"))
	case "slow start":
		Run(ConfigYAML(quiet), Backend(newFakeRegistry()), fx.Invoke(func(lc fx.Lifecycle) {
			lc.Append(fx.StartHook(func(ctx context.Context) error {
				fmt.Println("started")
				<-ctx.Done()
				return ctx.Err()
			}))
		}))
	case "exit code":
		Run(alone, fx.Invoke(func(lc fx.Lifecycle, s fx.Shutdowner) {
			lc.Append(fx.StartHook(func() error { return s.Shutdown(fx.ExitCode(3)) }))
		}))
	case "bad configuration":
		Run(ConfigYAML("server: { port: many, shutdown: never }\n"))
	case "constructor":
		Run(alone, fx.Provide(func() (*strings.Builder, error) { return nil, errors.New("no database at db:5432") }),
			fx.Invoke(func(*strings.Builder) {}))
	case "missing":
		Run(alone, fx.Invoke(func(*strings.Builder) {}))
	}
	fmt.Println("returned")
}

type story struct {
	cmd    *exec.Cmd
	output *logText
}

func tell(t *testing.T, name string) *story {
	t.Helper()
	s := &story{exec.Command(os.Args[0]), &logText{}}
	s.cmd.Env = append(os.Environ(), childEnv+"="+name)
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	return s
}

// signalWhen sends a signal once the text is in the output.
func (s *story) signalWhen(t *testing.T, text string, sig os.Signal) {
	t.Helper()
	require.Eventually(t, func() bool { return s.output.count(text) > 0 }, patience, 5*time.Millisecond, "no %q", text)
	require.NoError(t, s.cmd.Process.Signal(sig))
}

func (s *story) exitCode() int {
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

func TestRun_EndsBySignalWithCodeZero(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		s := tell(t, "serve")
		s.signalWhen(t, "registered", sig)
		require.Zero(t, s.exitCode(), s.output)
		require.Contains(t, s.output.String(), "deregistered")
		require.Contains(t, s.output.String(), "returned")
	}
}

func TestAR10_Run_ASecondSignalCutsTheDrain(t *testing.T) {
	s := tell(t, "drain")
	s.signalWhen(t, "registered", syscall.SIGTERM)
	s.signalWhen(t, "draining", syscall.SIGTERM)
	require.Zero(t, s.exitCode(), s.output)
	require.Contains(t, s.output.String(), "deregistered")
}

func TestRun_ASignalEndsTheStart(t *testing.T) {
	s := tell(t, "slow start")
	s.signalWhen(t, "started", os.Interrupt)
	require.Zero(t, s.exitCode())
	require.Contains(t, s.output.String(), "stopped by a signal while starting")
}

func TestRun_ExitCodeOfTheShutdowner(t *testing.T) {
	s := tell(t, "exit code")
	require.Equal(t, 3, s.exitCode(), s.output)
	require.NotContains(t, s.output.String(), "application failed")
}

func TestRun_PrintsEachProblemOfTheConfigurationOnALine(t *testing.T) {
	s := tell(t, "bad configuration")
	require.Equal(t, 1, s.exitCode())
	require.Equal(t, `application failed:
  server.port: "many" must be a whole number (ConfigYAML:1)
  server.shutdown: "never" must be graceful or immediate (ConfigYAML:1)
  application.name: must be set to register, or cloud.nacos.discovery.service; cloud.nacos.discovery.register-enabled: false only looks services up
`, s.output.String())
}

func TestRun_PrintsTheCauseAndNotTheGraph(t *testing.T) {
	s := tell(t, "constructor")
	require.Equal(t, 1, s.exitCode())
	require.True(t, strings.HasSuffix(s.output.String(), "application failed:\n  no database at db:5432\n"), s.output)

	s = tell(t, "missing")
	require.Equal(t, 1, s.exitCode())
	require.Contains(t, s.output.String(), "missing type: *strings.Builder")
}

func TestAppRun_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	app := assembled(t, alone, fx.Invoke(func(lc fx.Lifecycle) { lc.Append(fx.StartHook(cancel)) }))
	require.ErrorIs(t, app.Run(ctx), context.Canceled, "a context that ends while starting is an error")

	ctx, cancel = context.WithCancel(t.Context())
	app = assembled(t, alone)
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	require.Eventually(t, func() bool { return app.Addr() != nil }, patience, time.Millisecond)
	require.Eventually(t, func() bool { s, _ := get(t, app, "/actuator/health/readiness"); return s == 200 }, patience, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}
