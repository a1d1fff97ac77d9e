package autoconfig

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

const auto = "cloud.service-registry.auto-registration."

func TestCase20_DeregisterThenDrainThenStopAccepting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRegistry()
		listener, client := inMemory(t)
		app := start(t, ConfigYAML(quiet), Backend(r), listener, Property(auto+"drain", "10s"),
			fx.Invoke(func(e *gin.Engine) {
				e.GET("/slow", func(c *gin.Context) {
					time.Sleep(12 * time.Second)
					c.String(http.StatusOK, "done")
				})
			}))
		status, _ := getWith(t, client, "http://app/actuator/health/readiness")
		require.Equal(t, http.StatusOK, status)

		began := time.Now()
		stopped := stopping(app)
		time.Sleep(time.Second)
		require.True(t, r.has("deregister"), "deregistration comes first")
		status, body := getWith(t, client, "http://app/actuator/health/readiness")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.JSONEq(t, `{"status":"OUT_OF_SERVICE","components":{"readinessState":{"status":"OUT_OF_SERVICE"}}}`, body)
		status, _ = getWith(t, client, "http://app/actuator/health/liveness")
		require.Equal(t, http.StatusOK, status, "it lives while it drains")

		// Accepted during the drain, answered during the shutdown of the server.
		status, body = getWith(t, client, "http://app/slow")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "done", body)
		require.NoError(t, <-stopped)
		require.Equal(t, 13*time.Second, time.Since(began).Round(time.Second))
		_, err := client.Get("http://app/slow")
		require.Error(t, err, "nothing is accepted any more")
	})
}

func TestCase20_AnApplicationWithinAnotherDoesNotWaitTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, inner := newFakeRegistry(), newFakeRegistry()
		outerListener, _ := inMemory(t)
		innerListener, _ := inMemory(t)
		within := assembled(t, ConfigYAML(quiet), Backend(inner), innerListener)
		app := start(t, ConfigYAML(quiet), Backend(outer), outerListener, Property(auto+"drain", "10s"),
			fx.Invoke(func(lc fx.Lifecycle) { lc.Append(fx.Hook{OnStart: within.Start, OnStop: within.Stop}) }))
		began := time.Now()
		stop(t, app)
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, []string{"register", "deregister"}, outer.all())
		require.Equal(t, []string{"register", "deregister"}, inner.all())
	})
}

func TestAR8_AShorterStopTimeoutOfTheUsersIsPointedOut(t *testing.T) {
	for timeout, warnings := range map[time.Duration]int{time.Second: 1, time.Minute: 0} {
		log, text := logTo()
		assembled(t, alone, log, fx.StopTimeout(timeout))
		require.Equal(t, warnings, text.count("stop timeout is shorter"))
	}
}

func TestAR10_ASecondSignalCutsTheDrainAndTheWaitForRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRegistry()
		listener, client := inMemory(t)
		app := start(t, ConfigYAML(quiet), Backend(r), listener,
			Property(auto+"drain", "1h"), Property("server.shutdown-timeout", "1h"),
			fx.Invoke(func(e *gin.Engine) {
				e.GET("/endless", func(c *gin.Context) { <-c.Request.Context().Done() })
			}))
		go func() {
			resp, err := client.Get("http://app/endless")
			if err == nil {
				_ = resp.Body.Close()
			}
		}()
		synctest.Wait()
		began := time.Now()
		stopped := stopping(app)
		time.Sleep(3 * time.Second)
		app.cut()
		require.NoError(t, <-stopped)
		require.Equal(t, 3*time.Second, time.Since(began).Round(time.Second))
		require.True(t, r.has("deregister"))
	})
}

func TestAR10_ASecondSignalCutsTheLameDuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, client := inMemory(t)
		app := start(t, alone, listener, Property("server.lame-duck", "1h"))
		began := time.Now()
		stopped := stopping(app)
		time.Sleep(3 * time.Second)
		status, _ := getWith(t, client, "http://app/actuator/health/readiness")
		require.Equal(t, http.StatusServiceUnavailable, status)
		app.cut()
		require.NoError(t, <-stopped)
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}

func TestCase20_WhoIsAnsweredDuringTheStopIsSentAway(t *testing.T) {
	for name, opts := range map[string][]fx.Option{
		"drain":     {Backend(newFakeRegistry()), Property(auto+"drain", "10s")},
		"lame duck": {Property("cloud.discovery.enabled", false), Property("server.lame-duck", "10s")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener, client := inMemory(t)
				app := start(t, append(opts, ConfigYAML(quiet), listener, fx.Invoke(echoPath))...)
				ask := func() (closes bool) {
					resp, err := client.Get("http://app/echo/x")
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					require.Equal(t, http.StatusOK, resp.StatusCode)
					return resp.Close
				}
				require.False(t, ask())
				stopped := stopping(app)
				for range 9 {
					time.Sleep(time.Second)
					require.True(t, ask(), "a new connection is taken, for one request")
				}
				require.NoError(t, <-stopped)
				_, err := client.Get("http://app/echo/x")
				require.Error(t, err, "and none after that")
			})
		})
	}
}

// TestCase20_TheLastConnectionIsAnswered: what was accepted before the listener
// closed is answered, also when the request itself comes after that.
func TestCase20_TheLastConnectionIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testutil.NewListener()
		app := start(t, alone, Listener(l), Property("server.lame-duck", "1s"), fx.Invoke(echoPath))
		began := time.Now()
		stopped := stopping(app)
		time.Sleep(990 * time.Millisecond)
		conn, err := l.Dial(t.Context(), "tcp", "")
		require.NoError(t, err)
		defer conn.Close()
		time.Sleep(903 * time.Millisecond)
		_, err = fmt.Fprint(conn, "GET /echo/x HTTP/1.1\r\nHost: app\r\n\r\n")
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.True(t, resp.Close)
		require.NoError(t, <-stopped)
		require.LessOrEqual(t, time.Since(began), 2100*time.Millisecond)
	})
}

// TestCase20_WhoSaysNothingIsNotWaitedForLong: a connection without a request has a
// second from when it was accepted.
func TestCase20_WhoSaysNothingIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testutil.NewListener()
		app := start(t, alone, Listener(l))
		conn, err := l.Dial(t.Context(), "tcp", "")
		require.NoError(t, err)
		defer conn.Close()
		time.Sleep(300 * time.Millisecond)
		began := time.Now()
		stop(t, app)
		require.Equal(t, 700*time.Millisecond, time.Since(began).Round(100*time.Millisecond))
		_, err = conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestAR10_AnExpiredContextStillDeregistersAndStopsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRegistry()
		listener, client := inMemory(t)
		app := start(t, ConfigYAML(quiet), Backend(r), listener, slowStop(r.journal), Property(auto+"drain", "1h"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		require.NoError(t, app.Stop(ctx))
		require.Zero(t, time.Since(began))
		require.Equal(t, []string{"register", "deregister", "user stopped"}, r.all())
		_, err := client.Get("http://app/")
		require.Error(t, err)
	})
}

func TestCase22_AR13_NothingThatFailsKeepsTheOthersFromStopping(t *testing.T) {
	panicking := registry.NewHook("bad", 0, registry.HookFuncs{
		BeforeDeregister: func(context.Context, registry.Registration) error { panic("oh") },
	})
	r := newFakeRegistry()
	app := start(t, ConfigYAML(quiet), Backend(r), slowStop(r.journal),
		fx.Provide(fx.Annotate(func() registry.LifecycleHook { return panicking }, fx.ResultTags(`group:"registration.lifecycle"`))))
	r.failWith(func() error { return errors.New("status 500") })
	stop(t, app)
	require.Equal(t, []string{"register", "deregister failed", "user stopped"}, r.all())
}

func TestCase21_AStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRegistry()
		listener, _ := inMemory(t)
		app := start(t, ConfigYAML(quiet), Backend(blackHole{r}), listener)
		began := time.Now()
		stop(t, app)
		require.LessOrEqual(t, time.Since(began), 4*time.Second)
	})
}

// blackHole never answers a deregistration.
type blackHole struct{ *fakeRegistry }

func (blackHole) Deregister(ctx context.Context, _ registry.Registration) error {
	<-ctx.Done()
	return ctx.Err()
}

// Whoever stops the application with less time than it asked for gets a shorter
// drain: the web server keeps what it needs.
func TestAR7_TheDrainLeavesTheWebServerItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRegistry()
		listener, _ := inMemory(t)
		app := start(t, ConfigYAML(quiet), Backend(r), listener, Property(auto+"drain", "30s"),
			Property("server.shutdown-timeout", "8s"), Property("server.lame-duck", "1s"))
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		began := time.Now()
		require.NoError(t, app.Stop(ctx))
		require.Equal(t, 7*time.Second, time.Since(began), "15 s less 9 s is the drain, and nobody is served: 1 s of lame duck")
		require.Equal(t, []string{"register", "deregister"}, r.all())
	})
}

func TestAR8_TheStopTimeoutCoversEveryStep(t *testing.T) {
	for name, c := range map[string]struct {
		opts []fx.Option
		want time.Duration
	}{
		"defaults":            {nil, 3*time.Second + 20*time.Second + 3*time.Second},
		"drain":               {[]fx.Option{Property(auto+"drain", "7s"), Property(auto+"deregister-timeout", "1s")}, 31 * time.Second},
		"immediate":           {[]fx.Option{Property("server.shutdown", "immediate")}, 6 * time.Second},
		"no registration":     {[]fx.Option{Property(auto+"enabled", false), Property(auto+"drain", "7s")}, 23 * time.Second},
		"no discovery at all": {[]fx.Option{Property("cloud.discovery.enabled", false)}, 23 * time.Second},
		"management server":   {[]fx.Option{Property("management.server.port", 0)}, 27 * time.Second},
		"lame duck":           {[]fx.Option{Property("server.lame-duck", "4s")}, 30 * time.Second},
		"no web server":       {[]fx.Option{Property("server.port", -1)}, 6 * time.Second},
		"the user's own":      {[]fx.Option{fx.StopTimeout(time.Minute)}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			app := assembled(t, append(c.opts, ConfigYAML(quiet), Backend(newFakeRegistry()))...)
			require.Equal(t, c.want, app.StopTimeout())
		})
	}
}

func TestAR8_ADrainAndASlowShutdownFitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRegistry()
		listener, client := inMemory(t)
		app := start(t, ConfigYAML(quiet), Backend(blackHole{r}), listener, slowStop(r.journal),
			Property(auto+"drain", "30s"),
			fx.Invoke(func(e *gin.Engine) {
				e.GET("/endless", func(c *gin.Context) { <-c.Request.Context().Done() })
			}))
		go func() {
			resp, err := client.Get("http://app/endless")
			if err == nil {
				_ = resp.Body.Close()
			}
		}()
		synctest.Wait()
		began := time.Now()
		stop(t, app)
		// 3 s to deregister, 30 s of drain, 20 s for the request that never ends.
		require.Equal(t, 53*time.Second, time.Since(began).Round(time.Second))
		require.True(t, r.has("user stopped"), "the hooks below ran in what was left")
	})
}

func TestShutdownImmediate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, client := inMemory(t)
		app := start(t, alone, listener, Property("server.shutdown", "immediate"), fx.Invoke(func(e *gin.Engine) {
			e.GET("/endless", func(c *gin.Context) { <-c.Request.Context().Done() })
		}))
		failed := make(chan error, 1)
		go func() {
			_, err := client.Get("http://app/endless")
			failed <- err
		}()
		synctest.Wait()
		began := time.Now()
		stop(t, app)
		require.Zero(t, time.Since(began))
		require.Error(t, <-failed)
	})
}
