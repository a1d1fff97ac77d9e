package push

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

var (
	one   = addr("127.0.0.1:50001")
	two   = addr("127.0.0.1:50002")
	three = addr("127.0.0.1:50003")
)

func TestChange_FirstAtOnceThenGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		n.ackFrom(one)
		s := start(t, n, st.answer)
		subscribe(t, s, "svc", one)
		began := time.Now()
		for i := range 100 { // a change every 20 ms for 2 s
			st.value.Store(int64(i))
			s.Change(key("svc"))
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second)
		got := n.to(one)
		require.Len(t, got, 5, "one at once, one per window of 500 ms")
		require.Equal(t, began, got[0].at)
		require.Equal(t, data(0), got[0].push.Data)
		require.Equal(t, data(99), got[4].push.Data)
		for i, d := range got {
			require.Equal(t, "dom", d.push.Type)
			require.Less(t, d.push.LastRefTime, int64(1)<<53)
			if i > 0 {
				require.Greater(t, d.push.LastRefTime, got[i-1].push.LastRefTime)
				require.GreaterOrEqual(t, d.at.Sub(got[i-1].at), 500*time.Millisecond)
			}
		}
	})
}

func TestSB12_LastStateReachesEveryone(t *testing.T) {
	for _, every := range []time.Duration{300 * time.Millisecond, 5 * time.Millisecond} {
		t.Run(every.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, st := newNetwork(), &state{}
				n.ackFrom(one, two) // three never acknowledges
				s := start(t, n, st.answer)
				for round := range 50 {
					for _, a := range []netip.AddrPort{one, two, three} {
						s.Subscribe(Request{Service: key("svc"), ClientIP: a.Addr().String(), Port: int(a.Port())})
					}
					for range 11 {
						st.value.Add(1)
						s.Change(key("svc"))
						time.Sleep(every)
					}
					time.Sleep(2*time.Second - every)
					listeners := []netip.AddrPort{one, two}
					if round < 3 { // until it is dropped for its silence
						listeners = append(listeners, three)
					}
					for _, a := range listeners {
						got := n.to(a)
						require.Equal(t, data(11*(round+1)), got[len(got)-1].push.Data, "round %d at %s", round, a)
					}
				}
			})
		})
	}
}

func TestSubscription_LivesAMinuteWithoutAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		n.ackFrom(one)
		s := start(t, n, st.answer)
		subscribe(t, s, "svc", one)
		time.Sleep(60 * time.Second)
		s.Change(key("svc"))
		time.Sleep(time.Second)
		require.Len(t, n.to(one), 1)
		subscribe(t, s, "svc", one)
		time.Sleep(64 * time.Second)
		require.Len(t, s.Subscribers(func(wire.ServiceKey) bool { return true }), 1)
		time.Sleep(2 * time.Second)
		require.Empty(t, s.Subscribers(func(wire.ServiceKey) bool { return true }))
		s.Change(key("svc"))
		time.Sleep(time.Second)
		require.Len(t, n.to(one), 1)
	})
}

func TestSubscription_LivesUntilItsClientIsToAskAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		interval := 10 * time.Second
		s := start(t, newNetwork(), (&state{}).answer, func(o *Options) {
			o.PollInterval = func() time.Duration { return interval }
		})
		lives := func(at time.Duration) {
			subscribe(t, s, "svc", one)
			time.Sleep(at - time.Second)
			require.Len(t, s.Subscribers(func(wire.ServiceKey) bool { return true }), 1)
			time.Sleep(2 * time.Second)
			require.Empty(t, s.Subscribers(func(wire.ServiceKey) bool { return true }))
		}
		lives(65 * time.Second)
		interval = 5 * time.Minute
		lives(5*time.Minute + 5*time.Second)
		interval = 24 * time.Hour
		lives(time.Hour)
	})
}

func TestRound_EncodesOncePerShape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		calls := 0
		s := start(t, n, func(k wire.ServiceKey, shape Shape) ([]byte, bool) {
			calls++
			return st.answer(k, shape)
		})
		for i := range 100 {
			require.True(t, s.Subscribe(Request{
				Service: key("svc"), Shape: Shape{Clusters: []string{"", "a,b"}[i%2]}, ClientIP: "127.0.0.1", Port: 1000 + i,
			}))
		}
		s.Change(key("svc"))
		s.Change(key("other"))
		synctest.Wait()
		require.Equal(t, 2, calls)
		require.Equal(t, `{"value":0,"clusters":"a,b"}`, n.to(addr("127.0.0.1:1001"))[0].push.Data)
	})
}

func TestRound_TooLargeIsCountedAndNotRetried(t *testing.T) {
	noise := make([]byte, 200_000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte('0' + random.IntN(64))
	}
	for name, large := range map[string][]byte{
		"compressed": noise,
		"not tried":  bytes.Repeat([]byte{'x'}, maxAnswer+1),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				answer := []byte("small")
				s := start(t, n, func(wire.ServiceKey, Shape) ([]byte, bool) { return answer, true })
				subscribe(t, s, "svc", one)
				s.Change(key("svc"))
				time.Sleep(time.Second)
				require.Len(t, n.to(one), 1)
				answer = large
				s.Change(key("svc"))
				time.Sleep(time.Minute)
				require.Len(t, n.to(one), 1, "nor is the small one sent again, which is out of date")
				require.Equal(t, 1.0, testutil.ToFloat64(s.metrics.tooLarge))
			})
		})
	}
}

func TestDelay_RunsFromTheFirstChangeToTheFirstDatagram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st, reg := newNetwork(), &state{}, prometheus.NewRegistry()
		n.ackFrom(one, two)
		slow := time.Duration(0)
		source := func(k wire.ServiceKey, shape Shape) ([]byte, bool) {
			time.Sleep(slow)
			return st.answer(k, shape)
		}
		s := start(t, n, source, func(o *Options) { o.Registerer = reg })
		requireDelays := func(count uint64, sum time.Duration) {
			t.Helper()
			families, err := reg.Gather()
			require.NoError(t, err)
			for _, f := range families {
				if f.GetName() == "rollcall_push_delay_seconds" {
					h := f.GetMetric()[0].GetHistogram()
					require.Equal(t, count, h.GetSampleCount())
					require.InDelta(t, sum.Seconds(), h.GetSampleSum(), 1e-9)
					return
				}
			}
			require.Fail(t, "there is no such metric")
		}
		subscribe(t, s, "svc", one)
		subscribe(t, s, "svc", two)
		requireDelays(0, 0)

		s.Change(key("svc"))
		time.Sleep(200 * time.Millisecond)
		requireDelays(1, 0) // one a round, however many subscribers
		s.Change(key("svc"))
		time.Sleep(100 * time.Millisecond)
		s.Change(key("svc"))
		time.Sleep(time.Second)
		requireDelays(2, 300*time.Millisecond) // the first of the gathered ones waits longest

		slow = 40 * time.Millisecond
		s.Change(key("svc"))
		time.Sleep(10 * time.Millisecond)
		s.Change(key("svc")) // while the round is under way: it has one of its own
		time.Sleep(2 * time.Second)
		requireDelays(4, 300*time.Millisecond+40*time.Millisecond+490*time.Millisecond+40*time.Millisecond)

		n.mu.Lock()
		n.fail = errors.New("network is unreachable")
		n.mu.Unlock()
		s.Change(key("svc"))
		time.Sleep(2 * time.Second)
		requireDelays(4, 870*time.Millisecond) // what was not sent has no delay
		s.Change(key("nobody's"))
		time.Sleep(time.Second)
		requireDelays(4, 870*time.Millisecond)
	})
}

func TestMetrics_AreRegisteredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s := start(t, newNetwork(), (&state{}).answer, func(o *Options) { o.Registerer = reg })
		subscribe(t, s, "svc", one)
		s.Change(key("svc"))
		synctest.Wait()
		n, err := testutil.GatherAndCount(reg)
		require.NoError(t, err)
		require.Equal(t, 8+5, n)
		_, err = New(Options{Conn: newNetwork(), Source: (&state{}).answer, Registerer: reg})
		require.ErrorContains(t, err, "register the push metrics")
	})
}

func TestClose_IsIdempotentAndFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		s := start(t, n, st.answer)
		subscribe(t, s, "svc", one)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		s.Change(key("svc"))
		require.False(t, s.Subscribe(Request{Service: key("svc"), ClientIP: "127.0.0.1", Port: 1}))
		time.Sleep(time.Minute)
		require.Empty(t, n.to(one))
	})
	_, err := New(Options{})
	require.Error(t, err)
}
