package shed

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o Options) *Shedder {
	t.Helper()
	if o.Wait == nil {
		o.Wait = func() time.Duration { return 0 }
	}
	s, err := New(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func TestSB20_EachKindHasItsPlaces(t *testing.T) {
	s := open(t, Options{Places: 4, Registerer: prometheus.NewRegistry()})
	taken := func(k Kind) (n int) {
		for n = 0; n < 100 && s.Enter(k); n++ {
		}
		return n
	}
	require.Equal(t, 2, taken(Read), "reads have the fewest")
	require.Equal(t, 4, taken(Beat), "and beats all of theirs, whatever else there is")
	require.Equal(t, 4, taken(Change))
	for k := range kinds {
		require.Equal(t, 1.0, testutil.ToFloat64(s.noPlace[k]), k.String())
		s.Leave(k)
		require.True(t, s.Enter(k), "a place that was given back is free")
	}
}

func TestSB20_PlacesAreExactAmongMany(t *testing.T) {
	s := open(t, Options{Places: 8})
	var most, now atomic.Int64
	var clients sync.WaitGroup
	for range 64 {
		clients.Go(func() {
			for range 1000 {
				if !s.Enter(Beat) {
					continue
				}
				n := now.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				runtime.Gosched()
				now.Add(-1)
				s.Leave(Beat)
			}
		})
	}
	clients.Wait()
	require.LessOrEqual(t, most.Load(), int64(8))
	require.Zero(t, s.active[Beat].Load())
}

func TestSB20_ReadsGoFirstWhenRequestsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wait atomic.Int64
		s := open(t, Options{Places: 1000, MaxWait: time.Second, Wait: func() time.Duration { return time.Duration(wait.Load()) }})
		refused := func(k Kind) (percent int) {
			for range 100 {
				if !s.Enter(k) {
					percent++
					continue
				}
				s.Leave(k)
			}
			return percent
		}
		after := func(periods int, waited time.Duration) {
			wait.Store(int64(waited))
			for range periods {
				refused(Read)
				time.Sleep(period)
				synctest.Wait()
			}
		}
		after(10, time.Second)
		require.Zero(t, refused(Read), "as long as it may be")
		for range 3 {
			after(patience-1, time.Minute)
			require.Zero(t, refused(Read), "a burst or a pause is no load")
			after(1, 0)
		}
		after(patience-1, time.Minute)
		after(1, 1500*time.Millisecond)
		require.Equal(t, step, refused(Read))
		after(1, 2500*time.Millisecond)
		require.Equal(t, 3*step, refused(Read), "the longer the wait, the more at once")
		after(20, time.Minute)
		require.Equal(t, 100, refused(Read))
		require.Zero(t, refused(Beat))
		require.Zero(t, refused(Change))
		after(3, 0)
		require.Equal(t, 100-3*step, refused(Read), "it ends as it began")
		after(10, 0)
		require.Zero(t, refused(Read))
	})
}

// TestSB20_FewReadsAreNotTheLoad: on a machine that is busy with something else.
func TestSB20_FewReadsAreNotTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{MaxWait: time.Second, Wait: func() time.Duration { return time.Minute }})
		refused := func(looks, perLook int) (n int) {
			for range looks {
				for range perLook {
					if !s.Enter(Read) {
						n++
					}
				}
				time.Sleep(period)
				synctest.Wait()
			}
			return n
		}
		few := fewReads * int(period) / int(time.Second)
		require.Zero(t, refused(100, few-1))
		require.NotZero(t, refused(100, few))
		refused(100/step, 0)
		require.Zero(t, refused(100, few-1), "nor when there were more before")
	})
}

func TestShedder_WithoutBounds(t *testing.T) {
	s := open(t, Options{})
	for range 10_000 {
		require.True(t, s.Enter(Read))
	}
	var none *Shedder
	require.True(t, none.Enter(Beat))
	none.Leave(Beat)
	for _, o := range []Options{{Places: -1}, {Places: 1}, {MaxWait: -1}} {
		_, err := New(o)
		require.Error(t, err)
	}
	idle, err := New(Options{})
	require.NoError(t, err)
	idle.Close()
}

func TestShedder_EnteringAllocatesNothing(t *testing.T) {
	s := open(t, Options{Places: 4})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s.Enter(Read)
		s.Leave(Read)
	}))
}

// TestQueueWait_GrowsWithTheQueue: what takes turns on the one processor has all of
// them wait for the others.
func TestQueueWait_GrowsWithTheQueue(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var over atomic.Bool
	var busy sync.WaitGroup
	for range 20 {
		busy.Go(func() {
			for !over.Load() {
				for began := time.Now(); time.Since(began) < time.Millisecond; {
				}
				runtime.Gosched()
			}
		})
	}
	longest := time.Duration(0)
	for range 5 {
		longest = max(longest, queueWait())
	}
	over.Store(true)
	busy.Wait()
	require.Greater(t, longest, 5*time.Millisecond, "twenty have a millisecond each")
}
