package loadbalance_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// clinic answers probes.
type clinic struct {
	mu     sync.Mutex
	status map[string]int // by host; 200 where none is set, 0 hangs
	asked  []string
	now    int
	most   int
	slow   time.Duration
}

func (c *clinic) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.asked = append(c.asked, r.Method+" "+r.URL.String())
	status, set := c.status[r.URL.Host]
	c.now++
	c.most = max(c.most, c.now)
	slow := c.slow
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.now--
		c.mu.Unlock()
	}()
	if slow > 0 {
		time.Sleep(slow)
	}
	if set && status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if !set {
		status = http.StatusNoContent
	}
	return &http.Response{StatusCode: status, Body: http.NoBody}, nil
}

func (c *clinic) set(host string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == nil {
		c.status = map[string]int{}
	}
	c.status[host] = status
}

func (c *clinic) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

// probing returns a balancer with health checks whose interval does not vary.
func probing(t *testing.T, c *clinic, s *memory.Source, edits ...func(*loadbalance.Properties)) *loadbalance.LoadBalancer {
	t.Helper()
	o := with(append([]func(*loadbalance.Properties){preset("health-check")}, edits...)...)
	o.ProbeTransport, o.Rand = c, func() float64 { return 0.5 }
	o.Policy = loadbalance.Random(nil)
	l := balancer(t, s, o)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func two() *memory.Source {
	s := memory.New()
	s.Set(orders, inst(1), inst(2))
	return s
}

func TestDR5_TwoFailuresDownOneSuccessUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		l := probing(t, c, two())
		require.Empty(t, c.take(), "nothing is probed before somebody calls")
		require.Equal(t, "12", keys(chosen(t, l)), "who was not probed counts as alive")
		synctest.Wait()
		require.ElementsMatch(t, []string{"GET http://192.0.2.1:8080/actuator/health", "GET http://192.0.2.2:8080/actuator/health"}, c.take())
		c.set(first, 500)
		time.Sleep(25 * time.Second)
		synctest.Wait()
		require.Len(t, c.take(), 2)
		require.Equal(t, "12", keys(chosen(t, l)), "one failure is not enough")
		time.Sleep(25 * time.Second)
		synctest.Wait()
		require.Equal(t, "2", keys(chosen(t, l)))
		state, _ := l.State(orders)
		require.Equal(t, "down", state.Instances[0].Probe)
		require.Equal(t, "up", state.Instances[1].Probe)
		c.set(first, 204)
		time.Sleep(25 * time.Second)
		synctest.Wait()
		require.Equal(t, "12", keys(chosen(t, l)), "any 2xx will do")
	})
}

func TestDR5_ProbesAreBoundedInNumberAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		var list []registry.Instance
		for n := range 40 {
			list = append(list, registry.NewInstance(orders, "192.0.2.1", n+1))
		}
		s.Set(orders, list...)
		c := &clinic{slow: time.Second}
		l := probing(t, c, s)
		_, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		require.Len(t, c.take(), 40)
		require.Equal(t, 16, c.most)
	})
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		c.set(first, 0) // hangs
		l := probing(t, c, two())
		chosen(t, l)
		time.Sleep(25*time.Second + 1999*time.Millisecond)
		synctest.Wait()
		require.Equal(t, "12", keys(chosen(t, l)))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, "2", keys(chosen(t, l)), "a probe that hangs fails after its two seconds")
	})
}

func TestDR5_IntervalVariesByATenth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		o := with(preset("health-check"))
		var top atomic.Bool
		o.ProbeTransport, o.Rand, o.Policy = c, func() float64 {
			if top.Load() {
				return 1
			}
			return 0
		}, loadbalance.RoundRobin(func() float64 { return 0 })
		l := balancer(t, two(), o)
		defer func() { require.NoError(t, l.Close()) }()
		chosen(t, l)
		synctest.Wait()
		for _, interval := range []time.Duration{22500 * time.Millisecond, 27500 * time.Millisecond} {
			c.take()
			top.Store(true) // for the pause after the next
			time.Sleep(interval - time.Millisecond)
			synctest.Wait()
			require.Empty(t, c.take(), interval)
			time.Sleep(time.Millisecond)
			synctest.Wait()
			require.Len(t, c.take(), 2, interval)
		}
	})
}

func TestDR4_FailsOpenWithAMetric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, open := range []bool{true, false} {
			c := &clinic{}
			c.set(first, 500)
			c.set(second, 500)
			r := prometheus.NewPedanticRegistry()
			o := with(preset("health-check"), func(p *loadbalance.Properties) { p.HealthCheck.FailOpen = open })
			o.ProbeTransport, o.Registerer = c, r
			l := balancer(t, two(), o)
			chosen(t, l)
			time.Sleep(30 * time.Second)
			synctest.Wait()
			_, err := l.Choose(t.Context(), orders)
			metric := "loadbalancer_health_check_fail_open_total"
			if open {
				require.NoError(t, err)
				require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(`
# HELP `+metric+` How often all instances were used because none answered its health check.
# TYPE `+metric+` counter
`+metric+`{serviceId="orders"} 1
`), metric))
			} else {
				require.ErrorIs(t, err, loadbalance.ErrNoInstance)
			}
			require.NoError(t, l.Close())
			count, err := testutil.GatherAndCount(r)
			require.NoError(t, err)
			require.Zero(t, count, "the metrics leave with the balancer")
		}
	})
}

func TestDR5_PathsPortsAndKeys(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*loadbalance.HealthCheckProperties)
		want string // what is asked of 192.0.2.1; "" nothing
	}{
		{"path of the service", func(h *loadbalance.HealthCheckProperties) {
			h.Path = map[string]string{"default": "/d", "ORDERS": "/o"}
		}, "GET http://192.0.2.1:8080/o"},
		{"path of all", func(h *loadbalance.HealthCheckProperties) { h.Path = map[string]string{"default": "/d"} }, "GET http://192.0.2.1:8080/d"},
		{"not probed", func(h *loadbalance.HealthCheckProperties) { h.Path = map[string]string{"orders": ""} }, ""},
		{"port", func(h *loadbalance.HealthCheckProperties) { h.Port = 9 }, "GET http://192.0.2.1:9/actuator/health"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clinic := &clinic{}
				s := memory.New()
				s.Set(orders, inst(1))
				l := probing(t, clinic, s, func(p *loadbalance.Properties) { c.edit(&p.HealthCheck) })
				chosen(t, l)
				synctest.Wait()
				if c.want == "" {
					require.Empty(t, clinic.take())
					return
				}
				require.Equal(t, []string{c.want}, clinic.take())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		s := memory.New()
		s.Set(orders, inst(1, secure))
		l := probing(t, c, s, func(p *loadbalance.Properties) {
			p.HealthCheck.InitialDelay, p.HealthCheck.RepeatHealthCheck = 10*time.Second, false
		})
		chosen(t, l)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		require.Empty(t, c.take(), "the initial delay")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"GET https://192.0.2.1:8080/actuator/health"}, c.take())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, c.take(), "once is enough")
		s.Set(orders, inst(1, secure), inst(2))
		chosen(t, l)
		synctest.Wait()
		require.Equal(t, []string{"GET http://192.0.2.2:8080/actuator/health"}, c.take(), "who joins is probed at once")
	})
}

func TestDR5_ProbesEndWhenNobodyCallsAndBeginAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		l := probing(t, c, two())
		chosen(t, l)
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		require.NotEmpty(t, c.take())
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		c.take()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Empty(t, c.take())
		chosen(t, l)
		synctest.Wait()
		require.Len(t, c.take(), 2)
	})
}

func TestDR5_RefetchProbesWhatNobodyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		s := two()
		l := probing(t, c, s, func(p *loadbalance.Properties) { p.HealthCheck.RefetchInstances = true })
		chosen(t, l)
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		c.take()
		s.Set(orders, inst(1), inst(2), inst(3))
		time.Sleep(25 * time.Second)
		synctest.Wait()
		require.Contains(t, c.take(), "GET http://192.0.2.3:8080/actuator/health")
	})
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		s := two()
		l := probing(t, c, s, func(p *loadbalance.Properties) {
			p.HealthCheck.RefetchInstances, p.HealthCheck.RefetchInstancesInterval = true, 3*time.Second
		})
		chosen(t, l)
		synctest.Wait()
		c.take()
		s.Set(orders, inst(1), inst(2), inst(3))
		time.Sleep(2999 * time.Millisecond)
		synctest.Wait()
		require.Empty(t, c.take())
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, []string{"GET http://192.0.2.3:8080/actuator/health"}, c.take(), "the list was read again, between two rounds")
	})
}

func TestDR5_UpdateResultsList(t *testing.T) {
	for _, immediate := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := &clinic{}
			c.set(first, 500)
			c.set(second, 0) // the round lasts for its two seconds
			l := probing(t, c, two(), func(p *loadbalance.Properties) {
				p.HealthCheck.UpdateResultsList, p.HealthCheck.UnhealthyThreshold = immediate, 1
			})
			chosen(t, l)
			time.Sleep(time.Second)
			synctest.Wait()
			want := "12"
			if immediate {
				want = "2"
			}
			require.Equal(t, want, keys(chosen(t, l)))
		})
	}
}

// A transport that does not know when to stop holds up nobody for longer than two
// seconds.
func TestCR4_CloseOfTheBalancerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		o := with(preset("health-check"))
		o.ProbeTransport = base(func(*http.Request) (*http.Response, error) {
			<-release
			return nil, errReset
		})
		l := balancer(t, two(), o)
		chosen(t, l)
		synctest.Wait()
		began := time.Now()
		require.Error(t, l.Close())
		require.Equal(t, 2*time.Second, time.Since(began))
		close(release)
	})
}

func TestDR5_CloseEndsProbesUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		c.set(first, 0)
		l := probing(t, c, two())
		chosen(t, l)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, l.Close())
		require.Zero(t, time.Since(began))
		_, err := l.Choose(context.Background(), orders)
		require.ErrorIs(t, err, loadbalance.ErrClosed)
	})
}
