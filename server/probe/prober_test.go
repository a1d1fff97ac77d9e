package probe

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A closed port is the end at once, silence only after checkTimes probes in a
// row, and so is the way back.
func TestProbe_Counting(t *testing.T) {
	for _, tt := range []struct {
		name    string
		failure func(context.Context) (net.Conn, error)
		probes  int
	}{
		{"refused", refusal, 1},
		{"silent", silence, 3},
		{"unreachable", unreachable, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t)
				f.net.set(local(1), tt.failure)
				require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, []Target{healthy(1)}))
				time.Sleep(40 * time.Second)
				require.Equal(t, []bool{false}, f.results.healthy(1), "told once")
				require.Equal(t, Result{Cluster: cluster1("s"), IP: "127.0.0.1", Port: 1}, f.results.all[0])
				_, told := f.results.told()
				dialed := f.net.times(local(1))
				require.Len(t, before(dialed, told), tt.probes)

				f.net.set(local(1), accept)
				back := time.Now()
				time.Sleep(40 * time.Second)
				require.Equal(t, []bool{false, true}, f.results.healthy(1))
				dialed = f.net.times(local(1))
				_, told = f.results.told()
				require.Len(t, before(dialed, told), len(before(dialed, back))+3)
			})
		})
	}
}

// before returns the times up to a moment.
func before(times []time.Time, until time.Time) []time.Time {
	n := 0
	for n < len(times) && !times[n].After(until) {
		n++
	}
	return times[:n]
}

// What interrupts a series starts it anew, in both directions.
func TestProbe_OnlyRowsCount(t *testing.T) {
	target := &target{cluster: &cluster{kind: TCP}, healthy: true}
	up, down := verdict{outcome: succeeded}, verdict{outcome: timedOut}
	for _, v := range []verdict{down, down, up, down, down, up} {
		require.False(t, target.judge(v, 3))
	}
	require.False(t, target.judge(down, 3))
	require.False(t, target.judge(down, 3))
	require.True(t, target.judge(down, 3))
	target.adopt(false)
	for _, v := range []verdict{up, up, down, up, up, {outcome: refused, atOnce: true}, up, up} {
		require.False(t, target.judge(v, 3))
	}
	require.True(t, target.judge(up, 3))

	target.adopt(true)
	require.True(t, target.judge(down, 0), "less than one is one")
	target.adopt(false)
	require.True(t, target.judge(up, 1))
}

// The first probe comes after 2 s and up to 5 s more, so that a restart does not
// probe all at once.
func TestProbe_FirstDelayIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(o *Options) { o.Rand = nil })
		var targets []Target
		for port := 1; port <= 500; port++ {
			f.net.set(local(port), accept)
			targets = append(targets, healthy(port))
		}
		begin := time.Now()
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, targets))
		time.Sleep(8 * time.Second)
		early, late := 0, 0
		for port := 1; port <= 500; port++ {
			delay := f.net.times(local(port))[0].Sub(begin)
			require.GreaterOrEqual(t, delay, 2*time.Second)
			require.LessOrEqual(t, delay, 7*time.Second)
			if delay < 2500*time.Millisecond {
				early++
			}
			if delay > 4*time.Second {
				late++
			}
		}
		require.Greater(t, early, 50)
		require.Greater(t, late, 50)
	})
}

func TestProbe_IntervalsAdapt(t *testing.T) {
	httpChecker := Checker{Type: HTTP}
	for _, tt := range []struct {
		name    string
		checker Checker
		answer  func(context.Context) (net.Conn, error)
		settles time.Duration // from the start of one probe to the next
	}{
		{"TCP, alive: as in the beginning", Checker{}, accept, 2 * time.Second},
		{"TCP, refused: the longest", Checker{}, refusal, 5 * time.Second},
		{"TCP, silent: the longest and the wait", Checker{}, silence, 5*time.Second + connectTimeout},
		{"HTTP, alive: the shortest", httpChecker, answerHTTP("HTTP/1.1 200 OK\r\n\r\n"), 500 * time.Millisecond},
		{"HTTP, refused: the longest", httpChecker, refusal, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t)
				f.net.set(local(1), tt.answer)
				require.NoError(t, f.Set(cluster1("s"), tt.checker, 0, []Target{healthy(1)}))
				time.Sleep(3 * time.Minute)
				all := f.net.intervals(local(1))
				require.InDelta(t, tt.settles.Seconds(), all[len(all)-1].Seconds(), 0.01)
				for _, i := range all {
					require.LessOrEqual(t, i, 5*time.Second+connectTimeout)
				}
			})
		})
	}
}

func TestInterval_Next(t *testing.T) {
	p := DefaultParams()
	require.Equal(t, 2750*time.Millisecond, p.TCP.next(2*time.Second, 5*time.Second))
	require.Equal(t, 2500*time.Millisecond, p.TCP.next(2*time.Second, 4*time.Second), "a timeout: twice the last")
	require.Equal(t, 5*time.Second, p.TCP.next(5*time.Second, 10*time.Second))
	require.Equal(t, time.Second, p.TCP.next(time.Second, 0))
	require.Equal(t, 1705*time.Millisecond, p.HTTP.next(2*time.Second, 34*time.Millisecond).Round(5*time.Millisecond))
	require.Equal(t, 2*time.Second, p.MySQL.next(2*time.Second, time.Millisecond))
	require.Equal(t, 3*time.Second, p.MySQL.next(3*time.Second, 6*time.Second))
	require.Equal(t, leastInterval, Interval{}.next(0, 0), "switches that make no sense make no storm")
}

// What counts at once is not asked again sooner for having been slow.
func TestProbe_IntervalAfterFailures(t *testing.T) {
	for _, tt := range []struct {
		v    verdict
		want time.Duration
	}{
		{verdict{outcome: timedOut}, 2700 * time.Millisecond},
		{verdict{outcome: overloaded}, 2700 * time.Millisecond},
		{verdict{outcome: timedOut, atOnce: true}, 2350 * time.Millisecond},
		{verdict{outcome: refused, atOnce: true}, 2350 * time.Millisecond},
		{verdict{outcome: readOnly}, 2350 * time.Millisecond},
		{verdict{outcome: broken}, 2350 * time.Millisecond},
	} {
		target := &target{cluster: &cluster{kind: MySQL}, interval: 2 * time.Second}
		target.adapt(tt.v, time.Second, DefaultParams().MySQL, time.Now())
		require.Equal(t, tt.want, target.interval, "%+v", tt.v)
	}
}

// Switch check off pauses all but the exempt services; on, they go on.
func TestProbe_SwitchCheckPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		f.switches(func(p *Params) { p.Enabled, p.Exempt = false, []string{"DEFAULT_GROUP@@exempt"} })
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, []Target{healthy(1)}))
		require.NoError(t, f.Set(cluster1("exempt"), Checker{}, 0, []Target{healthy(2)}))
		time.Sleep(time.Minute)
		require.Empty(t, f.net.times(local(1)))
		require.NotEmpty(t, f.net.times(local(2)))
		require.Empty(t, f.results.healthy(1))

		f.switches(func(p *Params) { p.Enabled = true })
		time.Sleep(time.Minute)
		require.Equal(t, []bool{false}, f.results.healthy(1))
	})
}

func TestProbe_SwitchCheckTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		f.switches(func(p *Params) { p.CheckTimes = 1 })
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, []Target{healthy(1)}))
		time.Sleep(2*time.Second + connectTimeout + time.Millisecond)
		require.Equal(t, []bool{false}, f.results.healthy(1))
	})
}

// Thousands of dead targets cost no goroutine each, are still found out, and do
// not hold up a living one.
func TestProbe_DeadTargetsDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(o *Options) { o.Rand = nil })
		goroutines := runtime.NumGoroutine()
		var dead []Target
		for port := range 3000 {
			dead = append(dead, healthy(10000+port))
		}
		require.NoError(t, f.Set(cluster1("dead"), Checker{}, 0, dead))
		f.net.set(local(1), accept)
		require.NoError(t, f.Set(cluster1("alive"), Checker{}, 0, []Target{healthy(1)}))
		begin := time.Now()
		for range 60 {
			time.Sleep(time.Second)
			// Two more per dial at the most: whatever times it.
			require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+3*DefaultWorkers)
		}
		require.LessOrEqual(t, f.net.busiest(), DefaultWorkers)
		n, found := f.results.told()
		require.Equal(t, 3000, n, "all dead are found out")
		require.Less(t, found.Sub(begin), 40*time.Second)

		all := f.net.intervals(local(1))
		require.GreaterOrEqual(t, len(all), 6)
		for _, i := range all[len(all)-5:] {
			require.Less(t, i, 8*time.Second)
		}
		f.net.set(local(1), refusal)
		died := time.Now()
		time.Sleep(10 * time.Second)
		require.Equal(t, []bool{false}, f.results.healthy(1))
		_, found = f.results.told()
		require.Less(t, found.Sub(died), 8*time.Second)
	})
}

func TestProbe_WorkersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(o *Options) { o.Workers = 4 })
		var targets []Target
		for port := 1; port <= 100; port++ {
			targets = append(targets, healthy(port))
		}
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, targets))
		time.Sleep(time.Minute)
		require.Equal(t, 4, f.net.busiest())
	})
	_, err := New(Options{Workers: 1})
	require.Error(t, err)
}

// Nothing to do is nothing at all besides the one goroutine.
func TestProbe_IdleHasNoWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		f.net.set(local(1), accept)
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, []Target{healthy(1)}))
		time.Sleep(2*time.Second + time.Millisecond)
		synctest.Wait()
		f.Prober.mu.Lock()
		defer f.Prober.mu.Unlock()
		require.Zero(t, f.workers)
		require.Zero(t, f.busySlow)
		require.Len(t, f.schedule, 1)
	})
}

// A change that cannot be stored is told again until it can.
func TestOnResult_RefusedIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		f.net.set(local(1), refusal)
		f.results.fail = true
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, []Target{healthy(1)}))
		time.Sleep(time.Minute)
		again := len(f.results.healthy(1))
		require.Greater(t, again, 5)

		f.results.mu.Lock()
		f.results.fail = false
		f.results.mu.Unlock()
		time.Sleep(time.Minute)
		require.Len(t, f.results.healthy(1), again+1)
	})
}

// Whoever is told may take his time, and call back.
func TestOnResult_MayBlockAndCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(o *Options) { o.Workers = 2 })
		var told atomic.Int32
		release := make(chan struct{})
		f.OnResult(func(r Result) error {
			told.Add(1)
			if r.Port == 1 {
				<-release
			}
			return f.Set(r.Cluster, Checker{}, 0, []Target{{IP: r.IP, Port: r.Port, Healthy: r.Healthy}})
		})
		for port := 1; port <= 3; port++ {
			f.net.set(local(port), refusal)
			require.NoError(t, f.Set(cluster1(fmt.Sprint(port)), Checker{}, 0, []Target{healthy(port)}))
		}
		f.net.set(local(4), accept)
		require.NoError(t, f.Set(cluster1("4"), Checker{}, 0, []Target{unhealthy(4)}))
		time.Sleep(30 * time.Second)
		require.EqualValues(t, 4, told.Load(), "each once, though the first still hangs")
		close(release)
		time.Sleep(30 * time.Second)
		require.EqualValues(t, 4, told.Load())
	})
}

// A worker that is held up while it tells leaves its place among the slow ones to
// the next.
func TestOnResult_HoldsUpOnlyItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(o *Options) { o.Workers = 2 })
		f.switches(func(p *Params) { p.CheckTimes = 2 })
		var told atomic.Int32
		release := make(chan struct{})
		f.OnResult(func(Result) error {
			if told.Add(1) == 1 {
				<-release
			}
			return nil
		})
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, []Target{healthy(1), healthy(2)}))
		time.Sleep(time.Minute)
		require.EqualValues(t, 2, told.Load())
		close(release)
	})
}

// Close cuts probes short, draws no conclusion from that, and can be repeated.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		f.switches(func(p *Params) { p.CheckTimes = 1 })
		var targets []Target
		for port := 1; port <= 200; port++ {
			targets = append(targets, healthy(port))
		}
		require.NoError(t, f.Set(cluster1("s"), Checker{}, 0, targets))
		time.Sleep(2*time.Second + connectTimeout/2)
		begin := time.Now()
		require.NoError(t, f.Close())
		require.Zero(t, time.Since(begin))
		require.NoError(t, f.Close())
		require.NoError(t, f.Set(cluster1("t"), Checker{}, 0, []Target{healthy(1)}))
		time.Sleep(time.Minute)
		n, _ := f.results.told()
		require.Zero(t, n)
	})
}
