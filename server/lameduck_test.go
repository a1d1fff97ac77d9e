package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/autoconfig"
)

// TestSB24_AStopUnderLoad: eight clients post while the server stops, four over
// connections they keep and four over a new one each time. They go on until a
// balancer that polls the readiness sees it gone. None of them notices anything.
// The lame duck lasts until then, however slow they are.
func TestSB24_AStopUnderLoad(t *testing.T) {
	r := start(t, autoconfig.Property("server.lame-duck", "1h"))
	var away atomic.Bool
	var answered, closed atomic.Int64
	failures := make(chan error, 64)
	fail := func(err error) {
		select {
		case failures <- err:
		default:
		}
	}
	var clients sync.WaitGroup
	for worker := range 8 {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: worker%2 == 0}, Timeout: soon}
			defer client.CloseIdleConnections()
			for n := 0; !away.Load(); n++ {
				resp, err := client.Post(fmt.Sprintf("%s/nacos/v1/ns/instance?serviceName=load&ip=192.0.2.%d&port=%d", r.base, worker, n%100), "", nil)
				if err != nil {
					fail(err)
					return
				}
				if resp.Close && worker%2 == 1 { // who asked to keep it was told not to
					closed.Add(1)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					fail(fmt.Errorf("status %d", resp.StatusCode))
				}
				answered.Add(1)
			}
		})
	}
	balancer := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: soon}
	readiness := func() int {
		resp, err := balancer.Get(r.base + "/nacos/v1/console/health/readiness")
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	require.Equal(t, http.StatusOK, readiness())
	require.Eventually(t, func() bool { return answered.Load() > 100 }, soon, time.Millisecond)

	stopped := make(chan error, 1)
	ctx, cut := context.WithCancel(context.Background())
	defer cut()
	go func() { stopped <- r.app.Stop(ctx) }()
	var seen []int
	for status := http.StatusOK; status == http.StatusOK; seen = append(seen, status) {
		status = readiness()
	}
	require.Equal(t, http.StatusServiceUnavailable, seen[len(seen)-1], "the readiness is gone before the listener")
	before := answered.Load()
	require.Eventually(t, func() bool { return answered.Load() > before+100 && closed.Load() > 0 || len(failures) > 0 }, soon, time.Millisecond)
	away.Store(true)
	clients.Wait()
	cut()
	require.NoError(t, <-stopped)
	select {
	case err := <-failures:
		require.NoError(t, err)
	default:
	}
	require.Positive(t, closed.Load())
	require.Zero(t, readiness(), "nothing listens")
}
